// ends: runtime memory
throw new Error('x'.repeat(2 ** 22))
