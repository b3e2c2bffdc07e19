// ends: ok timeout
const f = () => { try { return f() } catch (e) { return e.message } }; return f()
