// ends: memory
const a = []; for (;;) a.push(new ArrayBuffer(2 ** 20))
