// ends: memory
const a = []; for (;;) a.push('x'.repeat(2 ** 20) + a.length)
