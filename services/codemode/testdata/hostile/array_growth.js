// ends: memory timeout
const a = []; for (;;) a.push({})
