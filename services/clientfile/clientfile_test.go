package clientfile_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/services/clientfile"
)

// line returns an entry as one line: fields, problems and ignored keys.
func line(e clientfile.Entry) string {
	var parts []string
	for _, f := range e.Fields {
		parts = append(parts, f.Key+"="+string(f.Value))
	}
	for _, p := range e.Problems {
		parts = append(parts, "!"+p.Path)
	}
	for _, key := range e.NotTaken {
		parts = append(parts, "-"+key)
	}
	return strings.Join(parts, " ")
}

func TestTranslate(t *testing.T) {
	for entry, want := range map[string]string{
		`"https://a.example"`: `url="https://a.example"`,
		`7`:                   `!`,
		`{"url":"u","type":"http","transport":"streamable-http"}`:                       `transport="streamable-http" url="u"`,
		`{"url":"u","type":"http","transport":"sse"}`:                                   `transport="streamable-http" url="u" !transport`,
		`{"url":"u","type":"remote"}`:                                                   `transport="auto" url="u"`,
		`{"url":"u","enabled":true,"disabled":true}`:                                    `enabled=true url="u" !disabled`,
		`{"url":"u","enabled":false,"disabled":true}`:                                   `enabled=false url="u"`,
		`{"url":"u","disabled":"yes"}`:                                                  `url="u" !disabled`,
		`{"url":"u","denyTools":["a"],"excludeTools":["b"]}`:                            `denyTools=["a"] url="u" !excludeTools`,
		`{"url":"u","allowedTools":[]}`:                                                 `allowedTools=[] url="u"`,
		`{"url":"u","includeTools":[]}`:                                                 `url="u" !includeTools`,
		`{"url":"u","env":{}}`:                                                          `url="u" !env`,
		`{"url":"${HOST}/mcp"}`:                                                         `!url`,
		`{"url":"u","authBearer":"${env:X_TOKEN}"}`:                                     `authBearer="${X_TOKEN}" url="u"`,
		`{"url":"u","authBearer":"a","headers":{"authorization":"Bearer b"}}`:           `authBearer="a" authType="bearer" url="u" !headers.authorization`,
		`{"url":"u","authType":"none","headers":{"Authorization":"Bearer b"}}`:          `authType="none" url="u" !headers.Authorization`,
		`{"url":"u","headers":{"Authorization":"Basic b"}}`:                             `headers={"Authorization":"Basic b"} url="u"`,
		`{"url":"u","headers":{"X":"${{ secrets.KEY }}"}}`:                              `headers={"X":""} url="u" !headers.X`,
		`{"url":"u","headers":{"X":"${command:key}"}}`:                                  `headers={"X":""} url="u" !headers.X`,
		`{"url":"u","oauth":{"clientId":"","clientSecret":"","scopes":[]}}`:             `oauth={"clientId":"","clientSecret":"","scopes":[]} url="u"`,
		`{"url":"u","oauth":{"enabled":false,"clientId":"x"}}`:                          `oauth={"clientId":"x"} url="u"`,
		`{"url":"u","oauth":{"clientId":"x","client_id":"y"}}`:                          `authType="oauth" oauth={"clientId":"x"} url="u" !oauth.client_id`,
		`{"url":"u","authBearer":"t","oauth":{"clientId":"x"}}`:                         `authBearer="t" oauth={"clientId":"x"} url="u"`,
		`{"command":"npx","args":["mcp-remote","https://a.example","--header"]}`:        `url="https://a.example" !args`,
		`{"command":"npx","args":["mcp-remote"]}`:                                       `!command`,
		`{"command":"npx","args":["-y","mcp-remote","https://a.example"],"cwd":"/tmp"}`: `url="https://a.example"`,
		`{"command":"npx","args":["mcp-remote","https://a.example"],"denyTools":["x"]}`: `denyTools=["x"] url="https://a.example"`,
		`{"command":"npx","args":["mcp-remote","https://a.example"],"url":"https://b"}`: `url="https://a.example" !url`,
		`{"url":"u","autoApprove":[],"timeout":0}`:                                      `timeout=0 url="u" -autoApprove`,
		`{"url":"u","autoApprove":[],"timeout":3599}`:                                   `url="u" !timeout -autoApprove`,
		`{"url":"u","alwaysAllow":[],"timeout":3600}`:                                   `url="u" !timeout -alwaysAllow`,
		`{"url":"u","autoApprove":[],"timeout":3601}`:                                   `timeout=3601 url="u" -autoApprove`,
		`{"url":"u","timeout":300}`:                                                     `timeout=300 url="u"`,
	} {
		if got := line(clientfile.Translate([]byte(entry))); got != want {
			t.Errorf("Translate(%s)\n got %s\nwant %s", entry, got, want)
		}
	}
}

func TestParseFindsServers(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers":{"a":{"url":"u"}}}`:                  `mcpServers [a]`,
		`{"mcp":{"servers":{"a":{"url":"u"}},"inputs":[]}}`: `mcp.servers [a]`,
		`{"mcp":{"a":{"url":"u"}}}`:                         `mcp [a]`,
		`{"context_servers":{"a":{"url":"u"}}}`:             `context_servers [a]`,
		`{"name":"gh","url":"https://b.example"}`:           ` [gh]`,
		`{"mcpservers":{"a":{"url":"u"}}}`:                  ` [] map[mcpservers:unknown key: did you mean mcpServers?]`,
		`{"project":{"work":{"mcpServers":{}}}}`:            ` [] map[project:unknown key: did you mean projects?]`,
	} {
		f, err := clientfile.Parse(text)
		if err != nil {
			t.Errorf("Parse(%s): %v", text, err)
			continue
		}
		names := []string{}
		for _, s := range f.Servers {
			names = append(names, s.Name)
		}
		got := fmt.Sprint(f.Path, " ", names)
		if len(f.Problems) > 0 {
			got += fmt.Sprint(" ", f.Problems)
		}
		if got != want {
			t.Errorf("Parse(%s) = %s, want %s", text, got, want)
		}
	}
}

func TestParseLimitsDepth(t *testing.T) {
	for depth, ok := range map[int]bool{63: true, 64: true, 65: false} {
		_, err := clientfile.Parse(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
		if ok != (err == nil) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"url":"https://a.example","headers":{"Authorization":"Bearer ${env:X}"}}}}`)
	f.Add(`"a": {"command":"npx","args":["mcp-remote","https://a.example","--header","A:b"],"env":{"X":"y"}},`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := clientfile.Parse(text)
		if err != nil {
			return
		}
		for _, s := range file.Servers {
			clientfile.Translate(s.Raw)
		}
	})
}
