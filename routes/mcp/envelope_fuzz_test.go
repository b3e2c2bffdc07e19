package mcp

import (
	"bytes"
	"encoding/json"
	"testing"

	"mcpgateway/services/rawjson"
	"mcpgateway/web"
)

// FuzzEnvelope checks that accepted messages are valid JSON, that they parse to
// the same message after being written again, and that responses are valid JSON.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/x","params":[]}`, `{"jsonrpc":"2.0","id":"a\"b","result":{}}`,
		`[{"jsonrpc":"2.0","id":1.0e2,"method":"ping"},7]`, `{"jsonrpc":"2.0","id":null,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}`, `{"jsonrpc":"2.0","ID":1,"method":"\ud800"}`,
		`{"jsonrpc":"2.0","id":-0,"error":{"code":1}}`, ` `, `[]`, `{`, "\xef\xbb\xbf{}", `{"jsonrpc":"2.0","id":9007199254740993,"method":"a\u0000b","params":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, batch, problem := parseBody(body)
		if problem != nil {
			if messages != nil || problem.status != 400 {
				t.Fatalf("%q: %d messages and the status %d", body, len(messages), problem.status)
			}
			checkAnswer(t, problem.append(nil, web.ErrorContext{RequestID: "id"}))
			return
		}
		if !json.Valid(body) || len(messages) == 0 || len(messages) > maxBatch || !batch && len(messages) != 1 {
			t.Fatalf("%q became %d messages", body, len(messages))
		}
		for _, m := range messages {
			if m.err != nil {
				checkAnswer(t, m.err.append(nil, web.ErrorContext{RequestID: "id"}))
				continue
			}
			if m.isRequest() && m.isResponse() || m.method == "" && !m.isResponse() {
				t.Fatalf("%q became %+v", body, m)
			}
			if m.isResponse() {
				continue
			}
			// The message written again must parse to the same message.
			id := m.id
			if id == nil {
				id = []byte("0")
			}
			if m.params != nil && rawjson.Valid(m.params, rawjson.Strict) != nil {
				t.Fatalf("%q has the params %q", body, m.params)
			}
			again, _, problem := parseBody(appendRequest(nil, id, m.method, m.params))
			if problem != nil {
				t.Fatalf("%q written again is rejected: %s", body, problem.append(nil, web.ErrorContext{}))
			}
			if a := again[0]; a.method != m.method || !bytes.Equal(a.id, id) || !bytes.Equal(a.params, m.params) {
				t.Fatalf("%q written again became %+v", body, a)
			}
			checkAnswer(t, appendResult(nil, id, []byte("{}")))
		}
	})
}

func checkAnswer(t *testing.T, answer []byte) {
	t.Helper()
	var read struct {
		JSONRPC string `json:"jsonrpc"`
	}
	if err := json.Unmarshal(answer, &read); err != nil || read.JSONRPC != "2.0" {
		t.Fatalf("got %q: %v", answer, err)
	}
}
