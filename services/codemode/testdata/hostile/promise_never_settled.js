// ends: runtime
await new Promise(() => {})
