// ends: ok
const F = (() => {}).constructor, A = (async () => {}).constructor
const found = await A('return [typeof process, typeof require, typeof host, typeof std, typeof os, typeof fetch, typeof bjson, typeof Worker]')()
const g = F('return this')()
return [found.every((t) => t === 'undefined'), Object.getOwnPropertyNames(g).filter((n) => /host|process|require|std|bjson|fetch/.test(n)), typeof math.add.constructor('return host === undefined')]
