// ends: limit
await Promise.all(Array.from({ length: 10000 }, (_, i) => math.add({ a: i, b: 1 })))
