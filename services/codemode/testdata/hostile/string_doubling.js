// ends: memory runtime
let s = 'x'; for (;;) s += s
