package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

var update = flag.Bool("update", false, "update the responses and upstream parts of the conversations")

// TestConversations replays every testdata/*.txtar: it sends the client's lines
// in order and compares the responses and the upstream requests with the file.
// The parts of a file are:
//
//	settings   lines "era VERSION": the upstream server supports only these
//	project    the declarative project; URL is replaced by the server's URL
//	tools      a definition per line; the next line is its raw result after "=> " or its error after "!> "
//	client     a body per line; $CURSOR is replaced by the last nextCursor; "@ Name: value" sets a header
//	           of the next request; "! apply PROJECT" changes the project, "! sync" syncs the server,
//	           "! tools DEFINITION…" replaces its tools and syncs it
//	responses  "STATUS body" per client request
//	upstream   the bodies of the upstream requests made for the client
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	part := map[string]*txtar.File{}
	for i := range archive.Files {
		part[archive.Files[i].Name] = &archive.Files[i]
	}
	options := upstreamtest.Options{Name: "up", Tools: scriptedTools(t, lines(part["tools"])), Answer: upstreamtest.AnswerJSON}
	for _, line := range lines(part["settings"]) {
		key, value, _ := strings.Cut(line, " ")
		if key != "era" {
			t.Fatalf("unknown setting %q", line)
		}
		options.Eras = append(options.Eras, upstreamtest.Era(value))
	}
	up := upstreamtest.New(options)
	url := up.Start(t)
	app := routestest.New(t, modelstest.SQLite(t))
	app.Apply(t, `{"projects":{"p":`+strings.ReplaceAll(string(part["project"].Data), "URL", url)+`}}`)
	app.Sync(t, "p", "up")
	up.ForgetRequests()

	var responses, received bytes.Buffer
	header, cursor := map[string]string{}, ""
	for _, line := range lines(part["client"]) {
		if change, ok := strings.CutPrefix(line, "! "); ok {
			makeChange(t, app, up, url, change)
			continue
		}
		line = strings.ReplaceAll(line, "$CURSOR", cursor)
		if h, ok := strings.CutPrefix(line, "@ "); ok {
			name, value, _ := strings.Cut(h, ": ")
			header[name] = value
			continue
		}
		a := webtest.Send(t, app.App, webtest.Case{Method: "POST", Path: "/v1/mcp/p/request", Body: line, Header: header})
		fmt.Fprintf(&responses, "%d %s\n", a.Status, routestest.Normalise(a.Body))
		if found := nextCursor.FindStringSubmatch(a.Body); found != nil {
			cursor = found[1]
		}
		header = map[string]string{}
	}
	for _, r := range up.Requests() {
		if forClients(r) {
			fmt.Fprintf(&received, "%s\n", ownID.ReplaceAll(r.Body, []byte(`"id":N`)))
		}
	}
	if *update {
		part["responses"].Data, part["upstream"].Data = responses.Bytes(), received.Bytes()
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(part["responses"].Data), responses.String()); d != "" {
		t.Errorf("responses (-want +got):\n%s", d)
	}
	if d := cmp.Diff(string(part["upstream"].Data), received.String()); d != "" {
		t.Errorf("upstream requests (-want +got):\n%s", d)
	}
}

// ownID is the id of a request of the gateway. It depends on the number of
// previous requests.
var ownID = regexp.MustCompile(`"id":[0-9]+`)

// forClients reports whether the gateway made the request for a client, rather
// than to connect, sync or listen.
func forClients(r upstreamtest.Recorded) bool {
	switch r.Method {
	case "", "initialize", "notifications/initialized", "server/discover", "subscriptions/listen":
		return false
	default:
		return !strings.HasSuffix(r.Method, "/list")
	}
}

var nextCursor = regexp.MustCompile(`"nextCursor":"([^"]+)"`)

// makeChange applies a "!" line of a conversation.
func makeChange(t *testing.T, app *routestest.App, up *upstreamtest.Server, url, change string) {
	t.Helper()
	verb, rest, _ := strings.Cut(change, " ")
	switch verb {
	case "apply":
		app.Apply(t, `{"projects":{"p":`+strings.ReplaceAll(rest, "URL", url)+`}}`)
	case "tools":
		var tools []upstreamtest.Tool
		for definition := range strings.SplitSeq(rest, " ; ") {
			tools = append(tools, upstreamtest.Tool{Definition: definition})
		}
		up.SetTools(tools...)
		app.Sync(t, "p", "up")
	case "sync":
		app.Sync(t, "p", "up")
	default:
		t.Fatalf("unknown change %q", change)
	}
}

func lines(f *txtar.File) []string {
	if f == nil {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(string(f.Data), "\n") {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// scriptedTools returns tools with fixed results.
func scriptedTools(t *testing.T, script []string) []upstreamtest.Tool {
	t.Helper()
	var tools []upstreamtest.Tool
	for i := 0; i+1 < len(script); i += 2 {
		answer := script[i+1]
		var result upstreamtest.Result
		if raw, ok := strings.CutPrefix(answer, "=> "); ok {
			result.JSON = []byte(raw)
		} else if raw, ok := strings.CutPrefix(answer, "!> "); ok {
			var e struct {
				Code    int
				Message string
				Data    json.RawMessage
			}
			if err := json.Unmarshal([]byte(raw), &e); err != nil {
				t.Fatalf("invalid error %q", raw)
			}
			result.Err = &upstreamtest.RPCError{Code: e.Code, Message: e.Message, Data: e.Data}
		} else {
			t.Fatalf("no result in %q", answer)
		}
		if !json.Valid([]byte(script[i])) {
			t.Fatalf("invalid definition %q", script[i])
		}
		tools = append(tools, upstreamtest.Tool{Definition: script[i], Call: func(context.Context, *upstreamtest.Call) upstreamtest.Result { return result }})
	}
	return tools
}
