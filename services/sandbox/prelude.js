// The globals of submitted code. The engine itself has no input or output. The
// only access to the outside is `host`, which submitted code can't reach. This
// file first copies the built-ins that it needs later into its own scope,
// because submitted code can change every object that it can reach.
(function (host) {
  "use strict";
  const G = globalThis;
  const { Object, Error, TypeError, RangeError, Promise, Reflect, JSON, Date, Math, String, Number, Array, Map, Set, RegExp, BigInt, Uint8Array, ArrayBuffer, WeakMap, Symbol } = G;
  const apply = Reflect.apply, construct = Reflect.construct, ownKeys = Reflect.ownKeys;
  const define = Object.defineProperty, freeze = Object.freeze, create = Object.create;
  const then = Promise.prototype.then, stringify = JSON.stringify, parse = JSON.parse;
  const isArray = Array.isArray, fromCharCode = String.fromCharCode;
  const valueOf = String.prototype.valueOf, slice = String.prototype.slice, charCodeAt = String.prototype.charCodeAt, join = Array.prototype.join;
  const forEachMap = Map.prototype.forEach, forEachSet = Set.prototype.forEach, toISO = Date.prototype.toISOString;

  const hide = (target, name, value) => define(target, name, { value, writable: true, configurable: true, enumerable: false });
  const show = (target, name, value) => define(target, name, { value, writable: true, configurable: true, enumerable: true });
  const text = (value) => { try { return typeof value === "string" ? value : String(value); } catch { return "[unprintable]"; } };

  // There is one thread, so shared memory and atomics have no use.
  delete G.SharedArrayBuffer;
  delete G.Atomics;

  // --- JSON, including types without a JSON form ---------------------------
  function plain(key, value) {
    if (typeof value === "bigint") return text(value);
    if (value instanceof Map) {
      const out = create(null);
      apply(forEachMap, value, [(v, k) => show(out, text(k), v)]);
      return out;
    }
    if (value instanceof Set) {
      const out = [];
      apply(forEachSet, value, [(v) => show(out, out.length, v)]);
      return out;
    }
    if (value instanceof Error) return { name: text(value.name), message: text(value.message) };
    if (value instanceof Promise) promised = true;
    return value;
  }
  let promised = false; // a value converted to JSON contained a promise
  const toJSON = (value) => stringify(value, plain);

  // --- errors --------------------------------------------------------------
  const details = new WeakMap();
  const noteDetail = details.set.bind(details), detailOf = details.get.bind(details);
  class ToolError extends Error {
    constructor(message, more) {
      super(message);
      hide(this, "tool", more && more.tool);
      hide(this, "content", more && more.content);
      hide(this, "seq", more && more.seq);
    }
  }
  hide(ToolError.prototype, "name", "ToolError");

  function describe(error) {
    const out = { name: "Error", message: "", stack: "" };
    try {
      if (error !== null && typeof error === "object" && (error instanceof Error || "message" in error)) {
        out.name = apply(slice, text(error.name), [0, 200]);
        out.message = apply(slice, text(error.message), [0, 4000]);
        out.stack = apply(slice, text(error.stack), [0, 20000]);
        const known = detailOf(error);
        if (known) { out.tool = known.tool; out.seq = known.seq; out.kind = known.kind; }
      } else {
        out.name = "Thrown";
        out.message = apply(slice, typeof error === "string" ? error : text(toJSON(error)), [0, 4000]);
      }
    } catch {
      out.message = "The code threw a value that can't be displayed.";
    }
    return out;
  }

  // --- facts for hints -----------------------------------------------------
  // Facts of a run that only this file can see: whether the promise of a call
  // was ever used, the kinds of returned values, unknown properties of texts,
  // and JSON.parse of values. The values themselves stay plain and are not kept.
  const maxNotes = 8, maxChecks = 2000;
  const { setPrototypeOf } = Object, getProperty = Reflect.get;
  const list = () => setPrototypeOf([], null);
  const made = list(), reads = list(), parses = list(), texts = create(null);
  let checks = 0;
  const note = (into, fact) => { if (into.length < maxNotes) show(into, into.length, setPrototypeOf(fact, null)); };
  const stack = () => { const s = new Error().stack; return typeof s === "string" ? apply(slice, s, [0, 2000]) : ""; };
  const textKey = (s) => s.length + " " + apply(slice, s, [0, 32]) + " " + apply(slice, s, [-32]);
  function kindOf(value) {
    const out = create(null);
    if (typeof value === "string") {
      out.kind = "text";
      out.begins = apply(slice, value, [0, 60]);
    } else if (isArray(value)) {
      out.kind = "array";
      out.length = value.length;
    } else if (typeof value === "object" && value !== null) {
      out.kind = "object";
      const keys = ownKeys(value);
      out.keys = list();
      for (let i = 0; i < keys.length && i < maxNotes; i++) show(out.keys, i, apply(slice, text(keys[i]), [0, 40]));
    } else out.kind = value === null ? "null" : typeof value;
    return out;
  }
  // noteCall adds the fact of a call. It marks the promise as used when
  // something awaits it or calls then: each of these reads its constructor
  // (ECMA-262, PromiseResolve and SpeciesConstructor).
  function noteCall(promise, at) {
    const fact = setPrototypeOf({ index: made.length, stack: at, used: false, open: true, value: undefined }, null);
    show(made, made.length, fact);
    define(promise, "constructor", { get() { fact.used = true; return Promise; }, configurable: true });
    return fact;
  }
  function noteValue(fact, value) {
    fact.open = false;
    if (value === undefined) return value;
    fact.value = kindOf(value);
    if (typeof value === "string") texts[textKey(value)] = fact.index;
    for (let i = 0; isArray(value) && i < value.length && i < maxNotes; i++) if (typeof value[i] === "string") texts[textKey(value[i])] = fact.index;
    return value;
  }
  function report(value) {
    try {
      host("facts", stringify(setPrototypeOf({ returned: value !== undefined, promise: promised, calls: made, reads, parses }, null)));
    } catch {} // out of memory: there are no hints
  }
  // primitive returns the text of a String object: destructuring makes one.
  function primitive(receiver) {
    if (typeof receiver === "string") return receiver;
    try { return apply(valueOf, receiver, []); } catch { return ""; }
  }
  // Only properties that no string has reach this object.
  setPrototypeOf(String.prototype, new Proxy(create(Object.prototype), {
    get(target, key, receiver) {
      if (typeof key === "string" && reads.length < maxNotes && ++checks < maxChecks && !(key in target)) {
        const first = apply(charCodeAt, key, [0]), call = texts[textKey(primitive(receiver))];
        if (call !== undefined && !(first >= 48 && first <= 57)) note(reads, { stack: stack(), property: apply(slice, key, [0, 80]), call });
      }
      return getProperty(target, key, receiver);
    },
  }));
  hide(JSON, "parse", {
    parse(source, reviver) {
      if (typeof source === "object" && source !== null) note(parses, { stack: stack(), value: kindOf(source) });
      try {
        return parse(source, reviver);
      } catch (error) {
        if (typeof source === "string") note(parses, { stack: stack(), value: kindOf(source) });
        throw error;
      }
    },
  }.parse);

  // --- calls ---------------------------------------------------------------
  let lastId = 0, calls = 0, maxCalls = 0;
  const pending = create(null);
  function ask(kind, name, argument, convert) {
    const id = ++lastId;
    let fact, refuse;
    const promise = new Promise((resolve, reject) => {
      refuse = (error) => { if (fact) fact.open = false; reject(error); };
      pending[id] = { resolve: (value) => resolve(noteValue(fact, value)), reject: refuse, convert };
    });
    const refused = host(kind, id, name, argument);
    if (refused === undefined) fact = noteCall(promise, stack());
    else {
      delete pending[id];
      refuse(failure(parse(refused)));
    }
    return promise;
  }
  function failure(f) {
    const error = new ToolError(f.message, f);
    noteDetail(error, f);
    return error;
  }
  function settle(id, status, data) {
    const p = pending[id];
    if (p === undefined) return;
    delete pending[id];
    switch (status) {
      case "j": p.resolve(p.convert ? p.convert(parse(data)) : parse(data)); break;
      case "t": p.resolve(data); break;
      case "u": p.resolve(undefined); break;
      default: p.reject(failure(parse(data)));
    }
  }
  function call(name, args) {
    if (typeof name !== "string") throw new TypeError("The tool name must be a string such as alias__tool.");
    if (args === undefined || args === null) args = {};
    if (typeof args !== "object" || isArray(args)) throw new TypeError(name + ": Arguments must be a single object.");
    // The host also counts. This check only saves requests to it.
    if (++calls > maxCalls) return Promise.reject(failure({ kind: "limit", tool: name, message: "A run can make at most " + maxCalls + " tool calls." }));
    return ask("call", name, toJSON(args));
  }

  // --- console -------------------------------------------------------------
  function inspect(value) {
    if (typeof value === "string") return value;
    if (typeof value === "function") return "[function]";
    if (typeof value === "symbol" || typeof value === "bigint" || value === undefined) return text(value);
    if (value instanceof Error) return text(value.name) + ": " + text(value.message);
    try {
      const json = toJSON(value);
      return json === undefined ? text(value) : json;
    } catch {
      return "[unprintable]";
    }
  }
  const con = create(null);
  let muted = false, lost = 0;
  for (const level of ["log", "info", "warn", "error", "debug"]) {
    show(con, level, (...values) => {
      if (muted) { lost++; return; }
      const parts = [];
      for (let i = 0; i < values.length && i < 50; i++) show(parts, i, inspect(values[i]));
      muted = host("log", level, apply(slice, apply(join, parts, [" "]), [0, 8192]));
      if (muted) lost++;
    });
  }
  for (const name of ["trace", "dir", "table"]) show(con, name, con.log);
  freeze(con);

  // --- timers --------------------------------------------------------------
  const timers = create(null);
  function setTimeout(action, ms, ...args) {
    if (typeof action !== "function") throw new TypeError("setTimeout requires a function.");
    const id = ++lastId;
    timers[id] = () => apply(action, undefined, args);
    ms = Number(ms);
    host("timer", id, ms > 0 ? Math.min(ms, 2147483647) : 0);
    return id;
  }
  function clearTimeout(id) {
    if (typeof id === "number" && timers[id] !== undefined) {
      delete timers[id];
      host("untimer", id);
    }
  }
  function fire(id) {
    const action = timers[id];
    delete timers[id];
    if (action !== undefined) action();
  }

  // --- clock and random numbers, both set by the host's seed -----------------
  // The clock advances only while code waits, not while it computes. Each
  // reading adds 0.01 ms, so that a loop that waits for a time ends.
  let clock = 0;
  const now = () => Math.floor((clock += 0.01));
  function SeededDate(...args) {
    if (new.target === undefined) return new Date(now()).toString();
    return construct(Date, args.length === 0 ? [now()] : args, new.target);
  }
  SeededDate.prototype = Date.prototype;
  hide(Date.prototype, "constructor", SeededDate);
  hide(SeededDate, "now", now);
  hide(SeededDate, "parse", Date.parse);
  hide(SeededDate, "UTC", Date.UTC);
  define(SeededDate, "name", { value: "Date" });
  define(SeededDate, "length", { value: 7 });
  hide(G, "Date", SeededDate);
  let a = 0, b = 0, c = 0, d = 0;
  function next32() {
    const t = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t | 0;
    return t >>> 0;
  }
  hide(Math, "random", () => ((next32() >>> 5) * 67108864 + (next32() >>> 6)) / 9007199254740992);

  // --- globals of browsers and Node that the engine lacks --------------------
  function structuredClone(value) {
    const seen = new Map(), get = seen.get.bind(seen), set = seen.set.bind(seen), has = seen.has.bind(seen);
    const copy = (v) => {
      if (typeof v === "function" || typeof v === "symbol") throw new TypeError("A " + typeof v + " can't be cloned.");
      if (v === null || typeof v !== "object") return v;
      if (has(v)) return get(v);
      let out;
      if (v instanceof Date) return new Date(+v);
      if (v instanceof RegExp) return new RegExp(v.source, v.flags);
      if (v instanceof ArrayBuffer) return v.slice(0);
      if (ArrayBuffer.isView(v)) return construct(v.constructor, [v.buffer.slice(v.byteOffset, v.byteOffset + v.byteLength)]);
      if (v instanceof Map) { set(v, out = new Map()); v.forEach((x, k) => out.set(copy(k), copy(x))); return out; }
      if (v instanceof Set) { set(v, out = new Set()); v.forEach((x) => out.add(copy(x))); return out; }
      if (v instanceof Error) { set(v, out = new Error(v.message)); hide(out, "name", text(v.name)); return out; }
      set(v, out = isArray(v) ? [] : {});
      for (const key of Object.keys(v)) show(out, key, copy(v[key]));
      return out;
    };
    return copy(value);
  }
  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(input = "") {
      const s = text(input).toWellFormed(), out = [];
      for (let i = 0; i < s.length; i++) {
        const p = s.codePointAt(i);
        if (p > 0xffff) i++;
        if (p < 0x80) out.push(p);
        else if (p < 0x800) out.push(0xc0 | p >> 6, 0x80 | p & 63);
        else if (p < 0x10000) out.push(0xe0 | p >> 12, 0x80 | p >> 6 & 63, 0x80 | p & 63);
        else out.push(0xf0 | p >> 18, 0x80 | p >> 12 & 63, 0x80 | p >> 6 & 63, 0x80 | p & 63);
      }
      return new Uint8Array(out);
    }
  }
  class TextDecoder {
    constructor(label = "utf-8") {
      if (!["utf-8", "utf8"].includes(text(label).toLowerCase())) throw new RangeError("TextDecoder supports only utf-8.");
    }
    get encoding() { return "utf-8"; }
    decode(input) {
      if (input === undefined) return "";
      const bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
      let parts = [], out = "";
      let i = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
      while (i < bytes.length) {
        const first = bytes[i++];
        let more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : -1;
        let p = more <= 0 ? first : first & (0x3f >> more);
        let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80, high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
        for (; more > 0; more--) {
          const byte = bytes[i];
          if (!(byte >= low && byte <= high)) { more = -1; break; }
          low = 0x80; high = 0xbf;
          p = p << 6 | byte & 63;
          i++;
        }
        parts.push(String.fromCodePoint(more < 0 ? 0xfffd : p));
        if (parts.length === 4096) { out += parts.join(""); parts = []; }
      }
      return out + parts.join("");
    }
  }
  function btoa(data) {
    const s = text(data);
    for (let i = 0; i < s.length; i++) if (apply(charCodeAt, s, [i]) > 255) throw new RangeError("btoa supports only characters up to U+00FF.");
    return host("btoa", s);
  }
  function atob(data) {
    if (apply(slice, text(data), [0, 14]) === "gateway-block-") throw new RangeError("The data of a block stays outside the code. Return the block, or pass its data to a tool.");
    const out = host("atob", text(data));
    if (out === null) throw new RangeError("atob requires valid base64.");
    return out;
  }

  class URLSearchParams {
    #pairs = [];
    #changed;
    constructor(init = "", changed) {
      this.#changed = changed;
      if (typeof init === "string") {
        for (const part of init.replace(/^\?/, "").split("&")) {
          if (part === "") continue;
          const at = part.indexOf("="), plus = (s) => { s = s.replace(/\+/g, " "); try { return decodeURIComponent(s); } catch { return s; } };
          this.#pairs.push(at < 0 ? [plus(part), ""] : [plus(part.slice(0, at)), plus(part.slice(at + 1))]);
        }
      } else if (init && typeof init[Symbol.iterator] === "function") {
        for (const [k, v] of init) this.#pairs.push([text(k), text(v)]);
      } else {
        for (const k of Object.keys(init ?? {})) this.#pairs.push([k, text(init[k])]);
      }
    }
    #touch() { if (this.#changed) this.#changed(this.toString()); }
    get size() { return this.#pairs.length; }
    append(k, v) { this.#pairs.push([text(k), text(v)]); this.#touch(); }
    delete(k) { this.#pairs = this.#pairs.filter((p) => p[0] !== text(k)); this.#touch(); }
    get(k) { const p = this.#pairs.find((p) => p[0] === text(k)); return p ? p[1] : null; }
    getAll(k) { return this.#pairs.filter((p) => p[0] === text(k)).map((p) => p[1]); }
    has(k) { return this.#pairs.some((p) => p[0] === text(k)); }
    set(k, v) {
      const p = this.#pairs.find((p) => p[0] === text(k));
      if (p) { p[1] = text(v); this.#pairs = this.#pairs.filter((q) => q === p || q[0] !== p[0]); } else this.#pairs.push([text(k), text(v)]);
      this.#touch();
    }
    sort() { this.#pairs.sort((x, y) => (x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0)); this.#touch(); }
    forEach(f) { for (const [k, v] of this.#pairs) f(v, k, this); }
    *entries() { for (const p of this.#pairs) yield [p[0], p[1]]; }
    *keys() { for (const p of this.#pairs) yield p[0]; }
    *values() { for (const p of this.#pairs) yield p[1]; }
    [Symbol.iterator]() { return this.entries(); }
    toString() {
      const form = (s) => encodeURIComponent(s.toWellFormed()).replace(/%20/g, "+").replace(/[!'()~]/g, (x) => "%" + x.charCodeAt(0).toString(16).toUpperCase());
      return this.#pairs.map((p) => form(p[0]) + "=" + form(p[1])).join("&");
    }
  }
  class URL {
    #is;
    #params;
    constructor(input, base) {
      this.#read(text(input), base === undefined ? "" : text(base));
    }
    #read(input, base) {
      const found = host("url", input, base);
      if (found === null) throw new TypeError("Invalid URL: " + apply(slice, input, [0, 200]));
      this.#is = parse(found);
    }
    static canParse(input, base) { return host("url", text(input), base === undefined ? "" : text(base)) !== null; }
    static parse(input, base) { try { return new URL(input, base); } catch { return null; } }
    get href() { return this.#is.href; }
    set href(v) { this.#read(text(v), ""); this.#params = undefined; }
    get origin() { return this.#is.origin; }
    get protocol() { return this.#is.protocol; }
    get username() { return this.#is.username; }
    get password() { return this.#is.password; }
    get host() { return this.#is.host; }
    get hostname() { return this.#is.hostname; }
    get port() { return this.#is.port; }
    get pathname() { return this.#is.pathname; }
    get search() { return this.#is.search; }
    get hash() { return this.#is.hash; }
    #with(path, search, hash) {
      const user = this.#is.username === "" ? "" : this.#is.username + (this.#is.password === "" ? "" : ":" + this.#is.password) + "@";
      this.#read(this.#is.protocol + "//" + user + this.#is.host + path + search + hash, "");
    }
    set pathname(v) { v = text(v); this.#with(v.startsWith("/") ? v : "/" + v, this.#is.search, this.#is.hash); }
    set search(v) { v = text(v); this.#with(this.#is.pathname, v === "" || v.startsWith("?") ? v : "?" + v, this.#is.hash); this.#params = undefined; }
    set hash(v) { v = text(v); this.#with(this.#is.pathname, this.#is.search, v === "" || v.startsWith("#") ? v : "#" + v); }
    get searchParams() {
      return this.#params ??= new URLSearchParams(this.#is.search, (s) => this.#with(this.#is.pathname, s === "" ? "" : "?" + s, this.#is.hash));
    }
    toString() { return this.#is.href; }
    toJSON() { return this.#is.href; }
  }

  // --- fetch, only if the project allows it ----------------------------------
  class Headers {
    #map = new Map();
    constructor(init) {
      if (init == null) return;
      const pairs = init instanceof Headers || typeof init[Symbol.iterator] === "function" ? init : Object.keys(init).map((k) => [k, init[k]]);
      for (const [k, v] of pairs) this.append(k, v);
    }
    append(k, v) { k = text(k).toLowerCase(); const had = this.#map.get(k); this.#map.set(k, had === undefined ? text(v) : had + ", " + text(v)); }
    set(k, v) { this.#map.set(text(k).toLowerCase(), text(v)); }
    get(k) { return this.#map.get(text(k).toLowerCase()) ?? null; }
    has(k) { return this.#map.has(text(k).toLowerCase()); }
    delete(k) { this.#map.delete(text(k).toLowerCase()); }
    forEach(f) { this.#map.forEach((v, k) => f(v, k, this)); }
    entries() { return this.#map.entries(); }
    keys() { return this.#map.keys(); }
    values() { return this.#map.values(); }
    [Symbol.iterator]() { return this.#map.entries(); }
  }
  class Response {
    #body;
    #raw;
    constructor(from) {
      this.#body = from.body;
      this.#raw = from.base64;
      this.status = from.status;
      this.statusText = from.statusText;
      this.ok = from.status >= 200 && from.status < 300;
      this.url = from.url;
      this.redirected = from.redirected;
      this.headers = new Headers(from.headers);
    }
    async bytes() {
      if (!this.#raw) return new TextEncoder().encode(this.#body);
      const s = atob(this.#body);
      return Uint8Array.from({ length: s.length }, (_, i) => s.charCodeAt(i));
    }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async text() { return this.#raw ? host("utf8", this.#body) : this.#body; }
    async json() { return parse(await this.text()); }
  }
  function fetch(resource, options = {}) {
    const headers = [...new Headers(options.headers)];
    let body = options.body;
    if (body instanceof URLSearchParams) {
      body = body.toString();
      if (!headers.some((h) => h[0] === "content-type")) headers.push(["content-type", "application/x-www-form-urlencoded;charset=UTF-8"]);
    } else if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) body = new TextDecoder().decode(body);
    const request = { method: text(options.method ?? "GET").toUpperCase(), headers, body: body == null ? "" : text(body), redirect: text(options.redirect ?? "follow") };
    return ask("fetch", text(resource), toJSON(request), (from) => new Response(from));
  }

  for (const [name, value] of Object.entries({ setTimeout, clearTimeout, structuredClone, TextEncoder, TextDecoder, btoa, atob, URL, URLSearchParams })) hide(G, name, value);
  hide(G, "queueMicrotask", (f) => { apply(then, Promise.resolve(), [() => f()]); });

  // --- a run -------------------------------------------------------------------
  // prepare returns the constants of the code by name. The engine declares them
  // in a scope that the code can't change.
  let input;
  function prepare(start) {
    clock = start.clock;
    maxCalls = start.maxCalls;
    [a, b, c, d] = start.random;
    for (let i = 0; i < 12; i++) next32();
    if (start.fetch) {
      hide(G, "fetch", fetch);
      hide(G, "Headers", Headers);
    }
    const names = create(null);
    for (const space of start.namespaces) {
      const members = create(null);
      for (const [member, tool] of space.tools) {
        define(members, member, { value: (args) => call(tool, args), enumerable: true });
      }
      names[space.ident] = freeze(members);
    }
    const gateway = create(null);
    show(gateway, "call", (name, args, more) => {
      if (typeof more === "object" && more !== null) throw new TypeError("gateway.call takes a tool name and one arguments object.");
      return call(name, args);
    });
    show(gateway, "describe", (name, more) => {
      if (typeof name !== "string" || typeof more === "object" && more !== null) throw new TypeError("gateway.describe takes the name of a tool, alias__tool.");
      return call("gateway_describe", { name });
    });
    show(gateway, "search", (query, more) => {
      if (typeof more === "object" && more !== null) throw new TypeError("gateway.search takes one argument: a task, or an object such as {task, limit}.");
      return call("gateway_searchMcpForTask", typeof query === "string" ? { task: query } : query);
    });
    show(gateway, "store", (name, value) => {
      if (typeof name !== "string") throw new TypeError("gateway.store takes a name and a value.");
      if (toJSON(value) === undefined) throw new TypeError("gateway.store: The value has no JSON form.");
      return call("gateway.store", { name, value });
    });
    show(gateway, "load", (name) => {
      if (typeof name !== "string") throw new TypeError("gateway.load takes the name of a stored value.");
      return call("gateway.load", { name });
    });
    show(gateway, "run", (name, input, more) => {
      if (typeof more === "object" && more !== null || typeof name !== "string") throw new TypeError("gateway.run takes the name of a recipe and one input object.");
      return call("gateway__" + name, input);
    });
    names.gateway = freeze(gateway);
    names.console = con;
    names.input = input = start.input;
    names.ToolError = ToolError;
    return names;
  }
  function finish(value) {
    let json;
    promised = false;
    try {
      json = toJSON(value);
      report(value);
    } catch (error) {
      host("failed", stringify(describe(error)), "result", lost);
      return;
    }
    host("done", json, lost);
  }
  function fail(error) {
    report();
    host("failed", stringify(describe(error)), "", lost);
  }
  // begin runs the compiled code. If its value is a function, begin calls it
  // with the input.
  function begin(main) {
    const step = (value) => {
      if (typeof value !== "function") return finish(value);
      let returned;
      try { returned = apply(value, undefined, [input]); } catch (error) { return fail(error); }
      apply(then, Promise.resolve(returned), [finish, fail]);
    };
    let started;
    try { started = main(); } catch (error) { return fail(error); }
    apply(then, started, [step, fail]);
  }
  const advance = (ms) => { clock += ms; };
  return { prepare, begin, settle, fire, advance };
})
