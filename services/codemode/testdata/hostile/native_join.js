// ends: timeout memory runtime
const a = []; a.length = 2 ** 30; return a.join('x').length
