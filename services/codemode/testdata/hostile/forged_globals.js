// ends: ok
globalThis.gateway = globalThis.console = globalThis.math = { add: () => 'forged' }
globalThis.ToolError = class {}; globalThis.setTimeout = null
return [(await math.add({ a: 1, b: 1 })).sum, typeof gateway.call, typeof console.log]
