// ends: runtime
return math.add.constructor('return host("done", "{}")')()
