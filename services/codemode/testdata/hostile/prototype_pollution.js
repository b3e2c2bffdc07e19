// ends: ok
Object.prototype.polluted = 'yes'; Object.prototype.toJSON = function () { return this }; Object.prototype.message = 'x'
Array.prototype.push = Array.prototype.join = () => { throw new Error('mine') }; Promise.prototype.then = () => { throw new Error('mine') }
JSON.stringify = JSON.parse = () => { throw new Error('mine') }; Reflect.apply = () => { throw new Error('mine') }; globalThis.Promise = null; globalThis.Error = null
delete Object.prototype.toJSON
return (await math.add({ a: 1, b: 2 })).sum
