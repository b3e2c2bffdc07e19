// ends: runtime
await fetch('http://127.0.0.1/')
