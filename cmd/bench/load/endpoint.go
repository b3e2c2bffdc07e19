// Package load calls MCP endpoints over persistent connections, checks every
// response and measures its latency. It does little else, because it shares the
// CPU with the programs that it measures.
package load

import (
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/services/rawjson"
)

// Supported protocol revisions.
const (
	Sessions  = "2025-06-18" // with a handshake and a session
	Stateless = "2026-07-28"
)

// Endpoint is an MCP endpoint over http and the tool to call there.
type Endpoint struct {
	Address  string // host:port
	Path     string
	Key      string // sent as a bearer token unless empty
	Revision string // Sessions or Stateless
	Tool     string // returns its argument "text"
	Padding  int    // number of letters x after the text in a result
}

// The parts that differ between calls have a fixed length, so that a request is
// encoded once and then changed in place.
const (
	firstID    = 100_000_000 // nine digits
	lastID     = 999_999_999
	maxCalls   = 900_000_000
	idLength   = 9
	textLength = 32
)

// head returns the header of a POST request. length is that of the body; name
// is the tool of a tools/call.
func (e *Endpoint) head(length int, session, method, name string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", e.Path, e.Address)
	if e.Key != "" {
		b.WriteString("Authorization: Bearer " + e.Key + "\r\n")
	}
	switch {
	case e.Revision == Stateless:
		b.WriteString("Mcp-Protocol-Version: " + Stateless + "\r\nMcp-Method: " + method + "\r\n")
		if name != "" {
			b.WriteString("Mcp-Name: " + name + "\r\n")
		}
	case session != "":
		b.WriteString("Mcp-Protocol-Version: " + Sessions + "\r\nMcp-Session-Id: " + session + "\r\n")
	}
	b.WriteString("Content-Length: " + strconv.Itoa(length) + "\r\n\r\n")
	return []byte(b.String())
}

// request returns a complete POST request with a JSON-RPC message. params holds
// the members of the params object. A message without id is a notification.
func (e *Endpoint) request(session, id, method, name, params string) []byte {
	if e.Revision == Stateless {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Stateless +
			`","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		if params != "" {
			params += ","
		}
		params += meta
	}
	body := `{"jsonrpc":"2.0",`
	if id != "" {
		body += `"id":` + id + `,`
	}
	body += `"method":"` + method + `","params":{` + params + `}}`
	return append(e.head(len(body), session, method, name), body...)
}

// call returns a tools/call request with the text.
func (e *Endpoint) call(session string, text []byte) []byte {
	params := `"name":` + string(rawjson.Quote(e.Tool)) + `,"arguments":{"text":"` + string(text) + `"}`
	return e.request(session, strconv.Itoa(firstID), "tools/call", e.Tool, params)
}
