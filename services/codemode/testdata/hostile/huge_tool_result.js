// ends: limit
await text.big({ n: 5e6 })
