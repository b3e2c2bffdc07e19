package declaration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
)

func TestBareFileIsDefaultProject(t *testing.T) {
	d := parse(t, `{"mcpServers":{"a":{"url":"https://a.example"},"b":{"url":"https://b.example","allowedTools":["x"]}}}`)
	if len(d.Projects) != 1 || len(d.Projects["default"].Servers) != 2 || d.Projects["default"].AuthMode != nil {
		t.Errorf("Parse() = %+v", d.Projects)
	}
	d = parse(t, `{"mcpServers":{"a":{"url":"https://a.example","autoApprove":[]}},"inputs":[]}`)
	if diff := cmp.Diff([]string{"ignored: inputs", "a: ignored: autoApprove"}, d.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	_, err := declaration.Parse([]byte(`{"mcpServers":{"a":{"url":"https://a.example"}},"denyTools":[]}`))
	wantProblem(t, err, "unknown", "denyTools")
}

func TestBareFileClientSpellings(t *testing.T) {
	const url = "https://up.example/mcp"
	for _, tc := range []struct {
		entry string
		want  models.Transport // empty: not set
	}{
		{`"url":"` + url + `"`, ""},
		{`"serverUrl":"` + url + `"`, ""},
		{`"httpUrl":"` + url + `"`, ""},
		{`"url":"` + url + `","type":"http"`, models.TransportStreamableHTTP},
		{`"url":"` + url + `","type":"streamable-http"`, models.TransportStreamableHTTP},
		{`"url":"` + url + `","type":"streamableHttp"`, models.TransportStreamableHTTP},
		{`"url":"` + url + `","type":"sse"`, models.TransportSSE},
		{`"type":"sse","serverUrl":"` + url + `"`, models.TransportSSE},
		{`"url":"` + url + `","transport":"sse"`, models.TransportSSE},
		{`"url":"` + url + `","headers":{"Authorization":"Bearer ${MCP_UPSTREAM_X}"}`, ""},
	} {
		t.Run(tc.entry, func(t *testing.T) {
			s := parse(t, `{"mcpServers":{"a":{`+tc.entry+`}}}`).Projects["default"].Servers["a"]
			if s.URL == nil || *s.URL != url {
				t.Errorf("url = %v", s.URL)
			}
			switch {
			case tc.want == "" && s.Transport != nil:
				t.Errorf("transport = %s", *s.Transport)
			case tc.want != "" && (s.Transport == nil || *s.Transport != tc.want):
				t.Errorf("transport = %v, want %s", s.Transport, tc.want)
			}
		})
	}
}

func TestLocalServersAreRejected(t *testing.T) {
	const commands, transports = "commands are taken only from a file: save this entry and run \"gateway serve --local FILE\"", "servers of this transport come from their runner's file"
	client := func(entry string) string { return `{"mcpServers":{"fs":` + entry + `}}` }
	for _, tc := range []struct{ entry, key, message string }{
		{`{"command":"npx","args":["-y","x"],"env":{}}`, "command", commands},
		{`{"command":null}`, "command", commands},
		{`{"url":"https://a.example","command":"x"}`, "command", commands},
		{`{"url":"https://a.example","args":[]}`, "args", commands},
		{`{"url":"https://a.example","env":{}}`, "env", commands},
		{`{"url":"https://a.example","envFile":"x"}`, "envFile", commands},
		{`{"url":"https://a.example","cwd":"/"}`, "cwd", commands},
		{`{"url":"https://a.example","type":"stdio"}`, "type", commands},
		{`{"type":"stdio"}`, "type", commands},
		{`{"url":"https://a.example","transport":"stdio"}`, "transport", transports},
		{`{"url":"https://a.example","transport":"connector"}`, "transport", transports},
	} {
		t.Run(tc.entry, func(t *testing.T) {
			_, err := declaration.Parse([]byte(client(tc.entry)))
			wantProblem(t, err, tc.message, "mcpServers.fs."+tc.key)
			_, err = declaration.Parse([]byte(inProject(client(tc.entry)[1 : len(client(tc.entry))-1])))
			wantProblem(t, err, tc.message, "projects.p.mcpServers.fs."+tc.key)
			_, _, err = declaration.ParseServer([]byte(tc.entry))
			wantProblem(t, err, tc.message, tc.key)
			_, _, err = declaration.ParseNewServers([]byte(`{"alias":"fs",` + tc.entry[1:]))
			wantProblem(t, err, tc.message, tc.key)
			_, _, err = declaration.ParseNewServers([]byte(client(tc.entry)))
			wantProblem(t, err, tc.message, "mcpServers.fs."+tc.key)
		})
	}
}

func TestBareFileErrors(t *testing.T) {
	for _, tc := range []struct{ entry, path, message string }{
		{`"url":"https://a.example","serverUrl":"https://b.example"`, "mcpServers.a.serverUrl", "twice"},
		{`"httpUrl":"https://a.example","url":"https://b.example"`, "mcpServers.a.url", "twice"},
		{`"url":"https://a.example","type":"websocket"`, "mcpServers.a.type", "streamable-http"},
		{`"url":"https://a.example","type":7`, "mcpServers.a.type", "streamable-http"},
		{`"url":"https://a.example","autoAprove":[]`, "mcpServers.a.autoAprove", "did you mean autoApprove?"},
	} {
		t.Run(tc.entry, func(t *testing.T) {
			_, err := declaration.Parse([]byte(`{"mcpServers":{"a":{` + tc.entry + `}}}`))
			wantProblem(t, err, tc.message, tc.path)
		})
	}
}
