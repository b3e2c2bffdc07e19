// ends: ok timeout memory
for (let i = 0; i < 300; i++) console.log(globalThis, { get a() { throw 1 } }, Symbol('x'), () => {}, 1n); return 1
