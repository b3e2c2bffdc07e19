// ends: timeout
const spin = () => Promise.resolve().then(spin); spin(); await new Promise((r) => setTimeout(r, 1e9))
