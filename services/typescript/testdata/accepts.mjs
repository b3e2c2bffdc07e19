// Reads tools, [{server, name, inputSchema, valid?, invalid?}], from the file in the first argument and writes calls of
// them, [{tool, args, valid, why}], as JSON: valid calls that ajv accepts, and changed calls that it rejects or that have
// an argument unknown to the schema.
import { readFileSync } from "node:fs";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";

const options = { strict: false, validateFormats: false, allErrors: false, logger: false };
const clone = (v) => JSON.parse(JSON.stringify(v));
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);

// compile returns the validator for a schema's draft.
function compile(schema) {
  schema = clone(schema);
  const version = schema.$schema ?? "";
  const old = /draft-0[3467]/.test(version) || JSON.stringify(schema).includes('"additionalItems"');
  delete schema.$schema;
  if (/draft-04/.test(version)) fromDraft04(schema);
  return new (old ? Ajv : Ajv2020)(options).compile(schema);
}

function fromDraft04(schema) {
  if (Array.isArray(schema)) return schema.forEach(fromDraft04);
  if (!isObject(schema)) return;
  if (typeof schema.id === "string") delete schema.id;
  for (const [flag, bound] of [["exclusiveMinimum", "minimum"], ["exclusiveMaximum", "maximum"]]) {
    if (schema[flag] === true) { schema[flag] = schema[bound]; delete schema[bound]; }
    else if (schema[flag] === false) delete schema[flag];
  }
  Object.values(schema).forEach(fromDraft04);
}

function pointer(root, ref) {
  if (!ref.startsWith("#")) return undefined;
  let at = root;
  for (const part of ref.slice(1).split("/").slice(1)) at = at?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
  return at;
}

// flat merges all keywords of a schema about one value into one object, with the
// first of alternatives.
function flat(schema, root, depth = 0) {
  if (!isObject(schema) || depth > 20) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  const parts = [own];
  if ($ref !== undefined) parts.push(flat(pointer(root, $ref) ?? {}, root, depth + 1));
  for (const part of allOf ?? []) parts.push(flat(part, root, depth + 1));
  for (const alternatives of [anyOf, oneOf]) if (alternatives?.length) parts.push(flat(alternatives[0], root, depth + 1));
  const out = {};
  for (const part of parts) {
    for (const [k, v] of Object.entries(part)) {
      if (k === "properties") out.properties = { ...out.properties, ...v };
      else if (k === "required" && Array.isArray(v)) out.required = [...new Set([...(out.required ?? []), ...v])];
      else if (out[k] === undefined) out[k] = v;
    }
  }
  return out;
}

// sample returns a value that a schema is likely to accept: with the required
// properties only, or with all of them.
function sample(schema, root, all, depth = 0) {
  if (schema === true || schema === undefined || depth > 12) return "x";
  const s = flat(schema, root);
  if (s.const !== undefined) return s.const;
  if (s.enum?.length) return s.enum[all ? s.enum.length - 1 : 0];
  if (s.default !== undefined && s.default !== null && !isObject(s.default) && !Array.isArray(s.default)) return s.default;
  let type = Array.isArray(s.type) ? s.type.find((t) => t !== "null") ?? "null" : s.type;
  type ??= s.properties || s.additionalProperties || s.required ? "object" : s.items || s.prefixItems ? "array" : "string";
  switch (type) {
    case "null": return null;
    case "boolean": return true;
    case "integer":
    case "number": {
      let n = Math.max(s.minimum ?? 1, typeof s.exclusiveMinimum === "number" ? s.exclusiveMinimum + 1 : -Infinity);
      if (s.maximum !== undefined && n > s.maximum) n = s.maximum;
      if (s.multipleOf) n = Math.ceil(n / s.multipleOf) * s.multipleOf;
      return n;
    }
    case "array": {
      const tuple = s.prefixItems ?? (Array.isArray(s.items) ? s.items : []);
      const out = tuple.map((t) => sample(t, root, all, depth + 1));
      const items = Array.isArray(s.items) ? undefined : s.items;
      for (let i = out.length; i < Math.max(s.minItems ?? 0, tuple.length || !all ? 0 : 1); i++) out.push(sample(items ?? { type: "string" }, root, all, depth + 1));
      return out;
    }
    case "object": {
      const out = {};
      const names = new Set(s.required ?? []);
      if (all && depth < 6) for (const name of Object.keys(s.properties ?? {})) names.add(name);
      for (const name of names) {
        const property = s.properties?.[name] ?? (isObject(s.additionalProperties) ? s.additionalProperties : true);
        if (property !== false) Object.defineProperty(out, name, { value: sample(property, root, all, depth + 1), enumerable: true, configurable: true, writable: true });
      }
      if (names.size === 0 && all && isObject(s.additionalProperties)) out.key = sample(s.additionalProperties, root, all, depth + 1);
      return out;
    }
    default: {
      let text = s.pattern && /\^https?:/.test(s.pattern) ? "https://example.com/x" : "text";
      if (s.minLength > text.length) text = text.padEnd(s.minLength, "x");
      if (s.maxLength !== undefined) text = text.slice(0, s.maxLength);
      return text;
    }
  }
}

const wrongOf = (v) => (typeof v === "string" ? 42.5 : typeof v === "number" ? "wrong" : typeof v === "boolean" ? "wrong" : Array.isArray(v) ? 7 : "wrong");

// changes returns copies of a valid call with one error in each.
function changes(call, schema) {
  const out = [];
  const change = (why, edit) => { const c = clone(call); edit(c); out.push({ why, args: c }); };
  for (const name of schema.required ?? []) if (name in call) change("without " + name, (c) => delete c[name]);
  for (const [name, value] of Object.entries(call)) {
    change("wrong " + name, (c) => { c[name] = wrongOf(value); });
    const inner = Array.isArray(value) ? value[0] : value;
    if (!isObject(inner)) {
      if (Array.isArray(value) && value.length) change(`wrong ${name}[0]`, (c) => { c[name][0] = wrongOf(inner); });
      continue;
    }
    for (const key of Object.keys(inner)) {
      change(`wrong ${name}.${key}`, (c) => { const at = Array.isArray(value) ? c[name][0] : c[name]; at[key] = wrongOf(inner[key]); });
    }
  }
  return out;
}

const calls = [];
for (const [tool, { inputSchema: schema, valid, invalid }] of JSON.parse(readFileSync(process.argv[2], "utf8")).entries()) {
  let accepts;
  try { accepts = compile(schema); } catch { accepts = undefined; }
  for (const args of valid ?? []) calls.push({ tool, args, valid: true, why: "given" });
  for (const args of invalid ?? []) calls.push({ tool, args, valid: false, why: "given" });
  if (valid || !accepts) continue;
  let base;
  for (const all of [false, true]) {
    const args = sample(schema, schema, all);
    if (!isObject(args) || !accepts(args)) continue;
    calls.push({ tool, args, valid: true, why: all ? "all properties" : "required properties" });
    base = args;
  }
  if (!base) continue;
  for (const { why, args } of changes(base, flat(schema, schema))) if (!accepts(args)) calls.push({ tool, args, valid: false, why });
  calls.push({ tool, args: { ...clone(base), inventedArgument: 1 }, valid: false, why: accepts({ ...clone(base), inventedArgument: 1 }) ? "invented, open" : "invented" });
}
process.stdout.write(JSON.stringify(calls));
