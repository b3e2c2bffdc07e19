// ends: limit
await text.plain({ s: 'x'.repeat(2 ** 22) })
