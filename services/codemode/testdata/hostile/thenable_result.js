// ends: timeout
return { then() {} , a: new Promise((r) => setTimeout(r, 1e9)) }
