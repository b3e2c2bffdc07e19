// ends: timeout memory
function* g() { for (;;) yield* g() } for (const x of g()) x
