// ends: ok
for (let i = 0; i < 10000; i++) console.log('x'.repeat(10000), i); return 1
