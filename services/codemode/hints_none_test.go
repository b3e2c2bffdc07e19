package codemode_test

import (
	"testing"

	"mcpgateway/services/codemode"
)

// TestNoHints runs programs that are right. None may get a hint.
func TestNoHints(t *testing.T) {
	tools, d := office()
	r := runner(t, codemode.Options{})
	for _, code := range []string{
		"return await tracker.all_items({})",
		"tracker.all_items({})",
		"const items = await tracker.all_items({});\nitems.filter((i) => i.open).map((i) => i.title)",
		"return null",
		"return undefined",
		"await chat$_room.send({ text: 'a' });\nreturn;",
		"await chat$_room.send({ text: 'a' })",
		"for (const room of await chat$_room.list_rooms({})) console.log(room.name)\nconsole.log('done')",
		"const items = await tracker.all_items({});\nif (items.length > 2) return items.length;\nconst more = await store.query({});\nreturn more.rows",
		"const items = await tracker.all_items({});\nif (items.length > 100) return items.length;",
		"export default async function main() {\n  const items = await tracker.all_items({});\n  return items.length;\n}",
		"async function main(): Promise<void> {\n  await chat$_room.send({ text: 'a' });\n  return;\n}\nawait main();",
		"async () => { return undefined }",
		"const [a, b] = await Promise.all([tracker.all_items({}), climate.now({})]);\nreturn a.length + b",
		"const p = tracker.all_items({});\nconst w = climate.now({});\nreturn [await p, await w]",
		"const all = [];\nfor (let i = 0; i < 3; i++) all.push(disk.read({ path: `f${i}` }));\nreturn (await Promise.all(all)).length",
		"const done = [];\nfor await (const x of ['a', 'b'].map((path) => disk.read({ path }))) done.push(x);\nreturn done",
		"return await Promise.race([climate.now({}), new Promise((_, no) => setTimeout(() => no(new Error('late')), 5000))])",
		"return climate.now({}).then((w) => w.toUpperCase())",
		"const slow = climate.now({}).finally(() => console.log('over'));\nreturn await slow",
		"try {\n  return await disk.read({ path: 'none.txt' });\n} catch (e) {\n  return 'no file: ' + e.message;\n}",
		"try {\n  return await disk.read({ path: 'none.txt' });\n} catch {\n  return null;\n}",
		"let text = 'default';\ntry {\n  text = await disk.read({ path: 'none.txt' });\n} catch { /* keeps the default */ }\nreturn text",
		"let found = 0;\nfor (const path of ['none.txt', 'a.txt']) {\n  try { await disk.read({ path }); found++ } catch { continue }\n}\nreturn found",
		"try { await disk.read({ path: 'none.txt' }) } catch { /* there may be none */ }\nreturn 1",
		"const text = await disk.read({ path: 'none.txt' }).catch(() => null);\nreturn text ?? 'none'",
		"const text = await disk.read({ path: 'none.txt' }).catch((e) => e instanceof ToolError ? '' : e);\nreturn text",
		"const all = await Promise.allSettled([disk.read({ path: 'none.txt' }), disk.list({})]);\nreturn all.filter((x) => x.status === 'fulfilled').map((x) => x.value)",
		"return await Promise.allSettled([disk.read({ path: 'none.txt' })])",
		"return await Promise.any([disk.read({ path: 'none.txt' }), disk.read({ path: 'a.txt' })])",
		"async function safe(path) { try { return await disk.read({ path }) } catch (e) { return '' } }\nreturn await Promise.all(['none.txt', 'a.txt'].map(safe))",
		"try {\n  await Promise.all([disk.read({ path: 'none.txt' }), disk.list({})]);\n} catch (e) {\n  console.warn(e.message);\n  return 'failed';\n}",
		"const w = await climate.now({});\nreturn typeof w === 'string' ? w : w.current.temp",
		"const w = await climate.now({});\nconst list = Array.isArray(w)\n  ? w\n  : w.items\n  ?? [w];\nreturn list",
		"const r = await tracker.all_items({});\nif (r.content) {\n  return r.content[0].text;\n}\nreturn r",
		"let r;\nfor (const path of ['none.txt', 'a.txt']) {\n  try { r = await disk.read({ path }); break } catch {}\n}\nreturn r",
		"await chat$_room.send({ text: 'a' });\nvoid 0;",
		"async () => undefined",
		"const w = await climate.now({});\nif (w.current) return w.current.temp;\nif (!w.items || w.error) return w;\nreturn null",
		"return await disk.read({ path: 'none.txt' }).then((t) => t, (e) => 'none')",
		"const names = await disk.list({});\nreturn names.map((n) => n.replace(/\\.txt$/, '').toUpperCase())",
		"const w = await climate.now({});\nconst value = w.text ?? w;\nreturn value.slice(0, 4)",
		"const w = await climate.now({});\nconst m = /(\\d+) degrees/.exec(w);\nreturn m ? Number(m[1]) : null",
		"const w = await climate.now({});\nlet n = 0;\nfor (let i = 0; w[i]; i++) n++;\nreturn { n, lines: w.split(', ').length, last: w.at(-1) }",
		"const note = await tracker.read_note({});\nlet parsed;\ntry { parsed = JSON.parse(note) } catch { parsed = { note } }\nreturn parsed",
		"return JSON.parse('{\"a\": [1, 2]}').a[1]",
		"const r = await store.query({});\nreturn JSON.parse(JSON.stringify(r)).rows[0].n",
		"const r = await store.query({});\nreturn r.items?.[0]?.n ?? r.rows[0].n",
		"const picture = await disk.picture({});\nreturn picture.content[0].mimeType",
		"const note = { content: [{ text: 'mine' }] };\nreturn note.content[0].text + (await climate.now({}))",
		"// import fs from 'fs'; require('fs'); fetch('x')\nconst s = \"tools.tracker.all_items() github__list_issues( process.env import x\";\nreturn s + `tools.tracker ${(await climate.now({})).length} callTool(`",
		"const tools = { tracker: { all_items: async () => 1 } };\nreturn await tools.tracker.all_items()",
		"function callTool(name) { return gateway.call(name, {}) }\nreturn await callTool('climate__now')",
		"const mcp = gateway;\nreturn await mcp.call('climate__now', {})",
		"const { all_items } = tracker;\nreturn (await all_items({})).length",
		"const names = Object.keys(tracker);\nreturn names.map((n) => typeof tracker[n])",
		"return typeof process === 'undefined' && typeof fetch === 'undefined' && typeof require === 'undefined'",
		"class Counter { #n = 0; add() { this.#n++; return this } get value() { return this.#n } }\nreturn new Counter().add().add().value",
		"function* ids() { yield 1; yield 2 }\nconst out = [];\nfor (const id of ids()) out.push(await tracker.create_item({ id }));\nreturn out.length",
		"outer: for (const a of [1, 2]) { for (const b of [1, 2]) { if (b === 2) continue outer; if (a === 2) break outer; } }\nreturn 'ok'",
		"const days = (await climate.days({})).days;\ndays.forEach((d) => { d.swing = d.high - 10 });\nreturn days",
		"const byDay = new Map((await climate.days({})).days.map((d) => [d.day, d]));\nreturn [...byDay.values()].sort((a, b) => b.high - a.high)[0].day",
		"throw new Error('stop here: not a mistake')",
		"interface Row { n: number }\nconst r: { rows: Row[] } = await store.query({});\nconst total: number = r.rows.reduce((sum: number, x: Row) => sum + x.n, 0);\nreturn { total, half: total / 2, re: /a\\/b[/]/g.test('a/b/') }",
		"return `a ${[1, 2].map((n) => `n${n}`).join('`')} b`",
		"```ts\nconst items = await tracker.all_items({});\nreturn items.length;\n```",
	} {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: code, Tools: tools}, d)
		if len(out.Hints) > 0 {
			t.Errorf("%s\nhints %q\n%s", code, out.Hints, out.Text())
		}
	}
}

// TestValuesArePlain reads what calls return in the ways that a wrapped value
// or promise would show.
func TestValuesArePlain(t *testing.T) {
	tools, d := office()
	code := `const p = climate.now({}), w = await p, r = await store.query({});
		return [typeof w, w === String(w), JSON.stringify(w), Object.keys(p).length, p instanceof Promise, p.constructor === Promise, Object.prototype.toString.call(p),
			JSON.stringify(r), JSON.stringify({ ...r }), JSON.stringify(structuredClone(r)), r.constructor === Object, Object.getPrototypeOf(r) === Object.prototype,
			"x" in r, r.content === undefined, [..."ab"].length, "a" instanceof Object, new String("a") instanceof Object, "a".hasOwnProperty("length"), JSON.parse.name, JSON.parse.length,
			JSON.parse("[1,2]", (k, v) => k === "0" ? 5 : v)[0], (() => { for (const k in "ab") if (k > "1") return k; return "none" })()]`
	out := run(t, runner(t, codemode.Options{}), codemode.Request{ProjectID: "p", Code: code, Tools: tools}, d)
	const want = `["string",true,"\"Cloudy, 12 degrees\"",0,true,true,"[object Promise]","{\"rows\":[{\"n\":1}],\"rowCount\":1}","{\"rows\":[{\"n\":1}],\"rowCount\":1}","{\"rows\":[{\"n\":1}],\"rowCount\":1}",` +
		`true,true,false,true,2,false,true,true,"parse",2,5,"none"]`
	if string(out.Result) != want || len(out.Hints) > 0 {
		t.Errorf("got %s %+v %q\nwant %s", out.Result, out.Error, out.Hints, want)
	}
}
