package typescript

// isReserved reports whether a name can't be a server's constant because the
// language, the type checker or the environment of the code uses it. An added
// name would rename servers with that alias. The list is therefore complete
// from the start, including names that are safe today but have a meaning in the
// language.
func isReserved(name string) bool {
	switch name {
	case // Reserved words, including strict mode (ECMA-262, 14th edition, 12.7.2).
		"await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
		"enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "new",
		"null", "return", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield",
		"implements", "interface", "let", "package", "private", "protected", "public", "static":
		return true
	case // Contextual keywords.
		"as", "async", "from", "get", "meta", "of", "set", "target", "using",
		"abstract", "accessor", "asserts", "constructor", "declare", "global", "infer", "is", "keyof", "module", "namespace",
		"out", "override", "readonly", "require", "satisfies", "type", "unique":
		return true
	case // Types of TypeScript.
		"any", "bigint", "boolean", "never", "number", "object", "string", "symbol", "undefined", "unknown":
		return true
	case // Other globals of the code, and the names of the header.
		"input", "console", "gateway", "fetch", "structuredClone", "setTimeout", "clearTimeout", "setInterval", "clearInterval",
		"queueMicrotask", "TextEncoder", "TextDecoder", "URL", "URLSearchParams", "atob", "btoa",
		"ToolError", "ToolCallOptions", "Console", "FetchInit", "FetchResponse", "Headers", "Request", "Response":
		return true
	case // Names that change the behavior of objects.
		"arguments", "eval", "prototype", "then", "exports", "process", "self", "window":
		return true
	case // Globals of the language.
		"globalThis", "Infinity", "NaN", "isFinite", "isNaN", "parseFloat", "parseInt", "decodeURI", "decodeURIComponent",
		"encodeURI", "encodeURIComponent", "escape", "unescape", "AggregateError", "Array", "ArrayBuffer", "Atomics", "BigInt",
		"BigInt64Array", "BigUint64Array", "Boolean", "DataView", "Date", "Error", "EvalError", "FinalizationRegistry",
		"Float16Array", "Float32Array", "Float64Array", "Function", "Int8Array", "Int16Array", "Int32Array", "Intl", "Iterator",
		"JSON", "Map", "Math", "Number", "Object", "Promise", "Proxy", "RangeError", "ReferenceError", "Reflect", "RegExp",
		"Set", "SharedArrayBuffer", "String", "Symbol", "SyntaxError", "Temporal", "TypeError", "URIError", "Uint8Array",
		"Uint8ClampedArray", "Uint16Array", "Uint32Array", "WeakMap", "WeakRef", "WeakSet", "WebAssembly",
		"Partial", "Record":
		return true
	}
	return false
}
