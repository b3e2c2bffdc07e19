package pool_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/upstream/upstreamtest"
)

// declaredAtSync are the capabilities that a sync declares.
const declaredAtSync = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true},` +
	`"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]},"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/skills":{}}}`

// declaredIn returns the client capabilities of a recorded request, raw.
func declaredIn(t *testing.T, r upstreamtest.Recorded) string {
	t.Helper()
	var m struct {
		Params struct {
			Capabilities json.RawMessage
			Meta         map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal(r.Body, &m); err != nil {
		t.Fatal(err)
	}
	if m.Params.Capabilities != nil {
		return string(m.Params.Capabilities)
	}
	return string(m.Params.Meta["io.modelcontextprotocol/clientCapabilities"])
}

// TestSyncDeclaresAll reads the inventory of upstreams that send
// requests to their client during a list, on the stream of the call or on the
// GET stream.
func TestSyncDeclaresAll(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		for _, onStream := range []bool{false, true} {
			if onStream && era.Stateless() {
				continue
			}
			t.Run(string(era)+map[bool]string{true: " on GET stream"}[onStream], func(t *testing.T) {
				var mu sync.Mutex
				answers := map[string]string{}
				list := func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
					for _, method := range []string{"roots/list", "elicitation/create", "sampling/createMessage", "x/unknown"} {
						if era.Stateless() {
							break
						}
						answer := put(ctx, c, method)
						mu.Lock()
						answers[method] = answer
						mu.Unlock()
					}
					return upstreamtest.JSON(`{"prompts":[{"name":"p"}]}`)
				}
				s := upstreamtest.New(upstreamtest.Options{
					Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: upstreamtest.Standard(1), AskOnStream: onStream,
					Methods: map[string]upstreamtest.Handler{"prompts/list": list},
				})
				p, to := newPool(t), target(s.Start(t))
				if onStream {
					startWatch(t, p, to).await(t, "", 1)
				}
				if _, _, _, err := p.ListTools(testContext(t), to); err != nil {
					t.Fatal(err)
				}
				if prompts, _, err := p.ListOffers(testContext(t), to, models.ListingPrompt); err != nil || len(prompts) != 1 {
					t.Fatalf("ListOffers = %v, %v", prompts, err)
				}
				// A call of a client without capabilities declares none.
				mustCall(t, p, to, echo("client"))

				declares := "initialize"
				if era.Stateless() {
					declares = "tools/list"
				}
				if got := declaredIn(t, s.Requests(declares)[0]); got != declaredAtSync {
					t.Errorf("sync declares %s, want %s", got, declaredAtSync)
				}
				if era.Stateless() {
					declares = "tools/call"
				}
				requests := s.Requests(declares)
				if got := declaredIn(t, requests[len(requests)-1]); got != "{}" {
					t.Errorf("client call declares %s, want {}", got)
				}
				if era.Stateless() {
					return
				}
				for method, want := range map[string]string{
					"roots/list": `{"roots":[]}`, "elicitation/create": `{"action":"cancel"}`, "sampling/createMessage": `{"code":-32603,`, "x/unknown": `{"code":-32601,`,
				} {
					if got := answers[method]; !strings.HasPrefix(got, want) {
						t.Errorf("response to %s during sync = %s, want %s", method, got, want)
					}
				}
			})
		}
	}
}
