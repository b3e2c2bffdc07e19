// ends: ok
let seen = []
try { null.x } catch (e) { seen.push(e.stack) }
Error.prepareStackTrace = (e, frames) => { seen.push(frames); return '' }
try { await math.add.call({}, 1) } catch (e) { seen.push(String(e.stack)) }
return seen.every((s) => !JSON.stringify(s).includes('prelude'))
