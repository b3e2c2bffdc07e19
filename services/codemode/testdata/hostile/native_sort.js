// ends: timeout memory ok
const a = Array.from({ length: 3e5 }, () => Math.random()); for (;;) a.sort()
