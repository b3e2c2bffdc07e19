// ends: ok runtime
class P extends Promise { static get [Symbol.species]() { return function (e) { e(() => {}, () => {}) } } }
Promise.prototype.constructor = P
return (await math.add({ a: 1, b: 1 })).sum
