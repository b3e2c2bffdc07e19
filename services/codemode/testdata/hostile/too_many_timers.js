// ends: runtime
for (let i = 0; i < 100000; i++) setTimeout(() => {}, 1000)
