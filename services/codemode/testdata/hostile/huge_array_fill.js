// ends: memory timeout
return new Array(2 ** 31).fill(1).length
