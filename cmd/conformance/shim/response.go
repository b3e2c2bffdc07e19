package shim

import (
	"bytes"

	"mcpgateway/services/rawjson"
)

// Response returns a gateway message with bare names in result.tools and
// result.prompts. It removes the entries of other servers and built-in tools from
// these lists. Other messages are returned unchanged.
func (n Names) Response(body []byte) []byte {
	if !bytes.Contains(body, []byte(`"tools"`)) && !bytes.Contains(body, []byte(`"prompts"`)) {
		return body
	}
	message, err := rawjson.ParseObject(body, rawjson.Lenient)
	if err != nil || message.Get("id") == nil || message.Get("method") != nil {
		return body
	}
	result := message.Object("result")
	if result == nil {
		return body
	}
	renamed := false
	for _, member := range []string{"tools", "prompts"} {
		if list, ok := n.list(result.Get(member)); ok {
			result.Set(member, list)
			renamed = true
		}
	}
	if !renamed {
		return body
	}
	message.Set("result", result.Bytes())
	return message.Bytes()
}

// list renames the entries of a JSON array. It returns false if raw isn't an array.
func (n Names) list(raw []byte) ([]byte, bool) {
	if rawjson.Kind(raw) != '[' {
		return nil, false
	}
	entries, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return nil, false
	}
	out := []byte{'['}
	for _, entry := range entries {
		if entry = n.entry(entry); entry == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, entry...)
	}
	return append(out, ']'), true
}

// entry renames one entry. It returns nil for an entry of another server. An entry
// without a name is unchanged, so that the suite reports it.
func (n Names) entry(raw []byte) []byte {
	if rawjson.Kind(raw) != '{' {
		return raw
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return raw
	}
	exported, ok := o.String("name")
	if !ok {
		return raw
	}
	bare, mine := n.Bare(exported)
	if !mine {
		return nil
	}
	o.Set("name", rawjson.Quote(bare))
	return o.Bytes()
}
