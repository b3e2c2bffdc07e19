// ends: ok memory timeout
for (let i = 0; i < 1e5; i++) Promise.reject(new Error('x')); return 1
