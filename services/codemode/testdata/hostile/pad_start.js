// ends: memory runtime
return 'x'.padStart(2 ** 30, 'y').length
