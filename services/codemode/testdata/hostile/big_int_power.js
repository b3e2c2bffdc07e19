// ends: memory timeout runtime
return (2n ** (2n ** 24n) * 3n ** (2n ** 22n)).toString().length
