// ends: runtime memory timeout
let o = {}; for (let i = 0; i < 3e4; i++) o = { o }; return o
