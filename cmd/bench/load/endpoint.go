// Package load calls MCP endpoints over connections that are kept open, checks
// every answer and measures how long each took. It does as little as it can
// besides, because it shares the processors with what it measures.
package load

import (
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/services/rawjson"
)

// The revisions that a client can speak.
const (
	Sessions  = "2025-06-18" // with a handshake and a session
	Stateless = "2026-07-28"
)

// Endpoint is an MCP endpoint over http and what is called there.
type Endpoint struct {
	Address  string // host:port
	Path     string
	Key      string // sent as a bearer token unless empty
	Revision string // Sessions or Stateless
	Tool     string // answers with its argument text
	Padding  int    // the number of letters x after the text in a result
}

// The parts of a call that differ from one to the next have the same length
// each time, so that a request is written once and then changed in place.
const (
	firstID    = 100_000_000 // nine digits
	lastID     = 999_999_999
	maxCalls   = 900_000_000
	idLength   = 9
	textLength = 32
)

// head returns the header of a POST with a body of the given length, session
// and method; name is that of the tool in a call.
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

// request returns a whole POST with a JSON-RPC message. params is the inside
// of the params object; a message without id is a notification.
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

// call returns a request that calls the tool with a text of its own length.
func (e *Endpoint) call(session string, text []byte) []byte {
	params := `"name":` + string(rawjson.Quote(e.Tool)) + `,"arguments":{"text":"` + string(text) + `"}`
	return e.request(session, strconv.Itoa(firstID), "tools/call", e.Tool, params)
}
