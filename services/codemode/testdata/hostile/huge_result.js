// ends: limit
return 'x'.repeat(2 ** 24)
