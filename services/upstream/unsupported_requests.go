package upstream

import (
	"bytes"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/wire"
)

// unsupportedRequests are the messages with which servers that have several
// revisions fail to send a request to a client of 2026-07-28: those of mcp-go and
// of the TypeScript SDK.
func unsupportedRequests() [2][]byte {
	return [2][]byte{[]byte("server-initiated requests are not supported"), []byte("Server-to-client requests are not available")}
}

// maxMessageIn is the maximum size in bytes of responses that are searched for a
// message.
const maxMessageIn = 64 << 10

// UnsupportedRequests returns the message of a response that failed because the
// server can't send requests to the client in this revision, and "" for other
// responses. The message is shortened.
func (r *Response) UnsupportedRequests() string {
	raw := r.Error
	if raw == nil {
		raw = r.Result
	}
	if len(raw) > maxMessageIn || !namesUnsupported(raw) {
		return ""
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return ""
	}
	if r.Error != nil {
		return messageIn(o, "message")
	}
	if string(bytes.TrimSpace(o.Get("isError"))) != "true" {
		return ""
	}
	content, err := rawjson.Elements(o.Get("content"), rawjson.Lenient)
	if err != nil {
		return ""
	}
	for _, raw := range content {
		if block, err := rawjson.ParseObject(raw, rawjson.Lenient); err == nil {
			if message := messageIn(block, "text"); message != "" {
				return message
			}
		}
	}
	return ""
}

func messageIn(o *rawjson.Object, member string) string {
	message, _ := o.String(member)
	if !namesUnsupported([]byte(message)) {
		return ""
	}
	return wire.Excerpt([]byte(message))
}

func namesUnsupported(text []byte) bool {
	for _, message := range unsupportedRequests() {
		if bytes.Contains(text, message) {
			return true
		}
	}
	return false
}
