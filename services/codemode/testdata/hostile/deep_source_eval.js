// ends: memory runtime
return eval('('.repeat(1e6))
