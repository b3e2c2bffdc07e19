// ends: memory
const f = () => f() + 1; return f()
