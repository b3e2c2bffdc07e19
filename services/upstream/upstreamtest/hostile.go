package upstreamtest

import (
	"context"
	"strings"
)

// Hostile returns tools that are valid JSON, and mostly valid MCP, but are
// damaged by decoding and encoding: unknown members, unusual order and white
// space, numbers beyond 64 bits, escapes, unusual names and schemas, unknown
// content types. HostileResults contains the results of some by name. The
// others return their raw arguments as structuredContent.
func Hostile() []Tool {
	results := HostileResults()
	tools := make([]Tool, 0, len(hostileDefinitions)+1)
	for _, d := range hostileDefinitions {
		tools = append(tools, Tool{Definition: d.definition, Call: func(_ context.Context, c *Call) Result {
			if raw, ok := results[d.name]; ok {
				return JSON(raw)
			}
			return Structured(orEmpty(c.Arguments))
		}})
	}
	deep := `{"name":"deep","inputSchema":` + strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{"type":"null"}` + strings.Repeat(`}}`, 60) + `}`
	return append(tools, Tool{Definition: deep})
}

type hostileDefinition struct{ name, definition string }

var hostileDefinitions = []hostileDefinition{
	{"unknown_fields", `{"x-vendor":{"deep":[1,{"a":null}]},"name":"unknown_fields","future":true,"description":"Holds members that no revision knows.","inputSchema":{"type":"object","x-order":["b","a"],"properties":{"b":{"type":"string","x-widget":"area"},"a":{"type":"integer"}}},"zz":""}`},
	{"odd_layout", " {\n\t\"inputSchema\" : { \"required\" :[ ] , \"type\"\n:\"object\",\"properties\":{ } } ,  \"description\":\"Members in an odd order, with odd white space.\" ,\"name\" :\"odd_layout\" } "},
	{"big_numbers", `{"name":"big_numbers","inputSchema":{"type":"object","properties":{"id":{"type":"integer","minimum":-9223372036854775808,"maximum":18446744073709551615,"default":9007199254740993},"x":{"type":"number","maximum":1e400,"multipleOf":1E-400,"default":1.0},"y":{"const":123456789012345678901234567890.10},"z":{"const":-0}}}}`},
	{"escaped", "{\"na\\u006de\":\"\\u0065scaped\",\"description\":\"quote \\\" slash \\/ emoji \\ud83d\\ude00 \U0001F600 separator \\u2028 nul \\u0000 html <b>&amp;</b>\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"gr\u00fc\u00df\":{\"type\":\"string\"},\"\\u65e5\\u672c\":{\"enum\":[\"\u8a9e\",\"<&>\"]}}}}"},
	{"Case", `{"name":"Case","description":"Differs from another tool by case only.","inputSchema":{"type":"object","properties":{"value":{"type":"string"},"Value":{"type":"integer"},"VALUE":{"type":"null"}}}}`},
	{"case", `{"name":"case","Name":"not the name","description":"Differs from another tool by case only.","Description":"not the description","inputSchema":{"type":"object"},"InputSchema":{"type":"string"}}`},
	{"array_output", `{"name":"array_output","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"type":"integer"}}}`},
	{"any_of", `{"name":"any_of","inputSchema":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}]},"outputSchema":{"anyOf":[{"type":"string"},{"type":"null"}]}}`},
	{"boolean_schema", `{"name":"boolean_schema","inputSchema":{"type":"object","properties":{"any":true,"none":false},"additionalProperties":true,"$defs":{"n":{"$ref":"#/$defs/n"}},"$schema":"http://json-schema.org/draft-07/schema#"}}`},
	{"dotted.name-with__all", `{"name":"dotted.name-with__all","inputSchema":{"type":"object"}}`},
	{"__leading", `{"name":"__leading","inputSchema":{"type":"object"}}`},
	{"-dash", `{"name":"-dash","inputSchema":{"type":"object"}}`},
	{strings.Repeat("n", 128), `{"name":"` + strings.Repeat("n", 128) + `","description":"Has the longest name allowed.","inputSchema":{"type":"object"}}`},
	{"class", `{"name":"class","description":"Is a reserved word in many languages.","inputSchema":{"type":"object","properties":{"constructor":{"type":"string"},"__proto__":{"type":"string"},"":{"type":"string"},"a b":{"type":"string"}}}}`},
	{"decorated", `{"name":"decorated","title":"Decorated","_meta":{"ui.resourceUri":"ui://x","com.example/n":9007199254740993},"icons":[{"src":"data:image/png;base64,iVBORw0KGgo=","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}],"annotations":{"title":"Other","readOnlyHint":false,"destructiveHint":false,"openWorldHint":false,"x-cost":0.10},"execution":{"taskSupport":"optional"},"inputSchema":{"type":"object"}}`},
	{"injection", `{"name":"injection","description":"</script><script>alert(1)</script> *\/ ${x} {{x}} '; drop table tools; -- \u202Egnp.exe\u202C\u200b","inputSchema":{"type":"object","properties":{"q":{"type":"string","description":"*/ export default 1 /* \u0060${1}\u0060"}}}}`},
	{"unknown_content", `{"name":"unknown_content","description":"Answers with content of a type that no revision knows.","inputSchema":{"type":"object"}}`},
	{"every_content", `{"name":"every_content","description":"Answers with content of every type that some revision knows.","inputSchema":{"type":"object"}}`},
	{"structured_array", `{"name":"structured_array","description":"Answers with structuredContent that is no object.","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`}, // language:ignore: fixture
	{"exact_result", `{"name":"exact_result","description":"Answers with numbers, escapes and members that must survive.","inputSchema":{"type":"object"}}`},
	{"no_content", `{"name":"no_content","description":"Answers with an empty object.","inputSchema":{"type":"object"}}`},
}

// HostileResults returns the raw results of hostile tools with special results,
// by tool name.
func HostileResults() map[string]string {
	return map[string]string{
		"unknown_content":  `{"content":[{"type":"hologram","beams":[1,2],"x":{"y":9007199254740993}},{"type":"text","text":"after it"}]}`,
		"every_content":    `{"content":[{"type":"text","text":"t","annotations":{"audience":["user"],"priority":0.50}},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///a%20b","name":"a b","size":9007199254740993},{"type":"resource","resource":{"uri":"file:///c","text":"c","mimeType":"text/plain"}}],"_meta":{"k":1}}`,
		"structured_array": `{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2,18446744073709551615]}`,
		"exact_result":     "{ \"structuredContent\" :{\"big\":12345678901234567890,\"huge\":1e400,\"zero\":-0.0,\"text\":\"\\u00e9 \u00e9 \\/ <b>\"} ,\"extra\":[ ],\"content\":[{\"text\":\"\\ud83d\\ude00\",\"type\":\"text\",\"x\":null}],\"isError\":false }",
		"no_content":       `{}`,
	}
}
