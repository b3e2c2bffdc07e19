// ends: memory
return new ArrayBuffer(2 ** 33).byteLength
