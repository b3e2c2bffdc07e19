// ends: timeout memory runtime limit ok
return new Proxy({}, { ownKeys: () => Array.from({ length: 1e5 }, (_, i) => 'k' + i), getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (t, k) => (k === 'toJSON' ? undefined : 'x'.repeat(1000)) })
