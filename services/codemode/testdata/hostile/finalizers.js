// ends: ok timeout memory
const r = new FinalizationRegistry(() => { for (;;) {} }); for (let i = 0; i < 1e4; i++) r.register({}, i); return 1
