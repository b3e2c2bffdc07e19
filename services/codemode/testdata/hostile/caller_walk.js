// ends: runtime
function f() { return f.caller } return f()
