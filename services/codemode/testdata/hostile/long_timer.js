// ends: timeout
await new Promise((r) => setTimeout(r, 2147483647))
