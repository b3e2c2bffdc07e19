// ends: ok
let limit = 0; for (let i = 0; i < 10000; i++) { try { await math.add({ a: i, b: 1 }) } catch (e) { if (e.message.includes('more than 100')) limit++ } } return limit
