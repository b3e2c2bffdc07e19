// ends: timeout ok
const a = []; a.length = 2 ** 32 - 1; return Array.prototype.indexOf.call(a, 1)
