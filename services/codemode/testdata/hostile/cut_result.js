// ends: ok
return Array.from({ length: 1e4 }, (_, i) => ({ i, s: 'text ' + i }))
