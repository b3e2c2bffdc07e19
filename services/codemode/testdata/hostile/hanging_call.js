// ends: timeout
await slow.hang()
