package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/upstream"
)

func urlError(ids ...string) *upstream.Response {
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprintf(`{"mode":"url","elicitationId":%q,"url":"https://x.example/%s","message":"M"}`, id, id))
	}
	return &upstream.Response{Error: []byte(`{"code":-32042,"message":"go there","data":{"elicitations":[` + strings.Join(all, ",") + `]}}`), Version: v2511}
}

// urlWorld is a gateway whose server requires the user to open URLs.
type urlWorld struct {
	*gateway.Gateway
	caller *caller
	client *gateway.Client
}

func newURLWorld(t *testing.T, version, capabilities string) *urlWorld {
	t.Helper()
	w := &urlWorld{caller: &caller{response: urlError("e1")}, client: client(version)}
	w.client.Principal, w.client.Capabilities = access.Administrator("ann", "p"), []byte(capabilities)
	w.Gateway = gateway.New(gateway.Options{
		Upstreams: w.caller, Views: &account{view: gatewaytest.Build(gatewaytest.Source("echo", "other"))}, Calls: &calls{}, Tokens: keyRing(t), Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	return w
}

func (w *urlWorld) call(ctx context.Context, params string) (string, error) {
	result, err := w.Handle(ctx, gatewaytest.Build(gatewaytest.Source("echo", "other")), w.client, "tools/call", []byte(params), nil)
	return string(result), err
}

// accept returns the params of the call that continues the one with the result.
func accept(result string, ids ...string) string {
	state := regexp.MustCompile(`"requestState":"[^"]+"`).FindString(result)
	var responses []string
	for _, id := range ids {
		responses = append(responses, `"`+id+`":{"action":"accept"}`)
	}
	return `{"name":"up__echo",` + state + `,"inputResponses":{` + strings.Join(responses, ",") + `}}`
}

func TestURLTextHasEveryURL(t *testing.T) {
	const two = `{"content":[{"type":"text","text":"M\nOpen https://x.example/a and call again."},{"type":"text","text":"M\nOpen https://x.example/b and call again."}],"isError":true`
	for _, tt := range []struct {
		name     string
		response *upstream.Response
		want     string
	}{
		{"two", urlError("a", "b"), two},
		{"none", &upstream.Response{Error: []byte(`{"code":-32042,"message":"go there","data":{"elicitations":[]}}`)}, `{"content":[{"type":"text","text":"go there"}],"isError":true`},
		{"no message", &upstream.Response{Error: []byte(`{"code":-32042}`)}, `{"content":[{"type":"text","text":"The tool requires you to open a URL first."}],"isError":true`},
		{"no message of the URL", &upstream.Response{Error: []byte(`{"code":-32042,"data":{"elicitations":[{"mode":"url","url":"u:x"},{"mode":"form"},7]}}`)}, `{"content":[{"type":"text","text":"Open u:x and call again."}],"isError":true`},
	} {
		for _, version := range []string{v2024, v2503, v2506, v2511, v2026} {
			w := newURLWorld(t, version, `{"elicitation":{}}`)
			w.caller.response = tt.response
			if got, err := w.call(t.Context(), call); err != nil || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s, %s: got %s, %v, want %s", tt.name, version, got, err, tt.want)
			}
		}
	}
	// Results of other methods have no isError, so an error has the URLs.
	src := gatewaytest.Source()
	src.Inventories["u"].Capabilities = `{"resources":{}}`
	src.Listings = map[string][]models.Listing{"u": {{ServerID: "u", Kind: models.ListingResource, Ident: "test://a", Definition: `{"uri":"test://a"}`}}}
	w := newURLWorld(t, v2511, "{}")
	w.caller.response = urlError("a", "b")
	_, err := w.Handle(t.Context(), gatewaytest.Build(src), w.client, "resources/read", []byte(`{"uri":"test://a"}`), nil)
	if f := wantFault(t, err, fault.CodeUpstreamError); f.Message != "M\nOpen https://x.example/a and call again.\nM\nOpen https://x.example/b and call again." {
		t.Errorf("resources/read: %q", f.Message)
	}
}

func TestContinuedCallWaitsForCompletion(t *testing.T) {
	for _, tt := range []struct {
		name     string
		complete []time.Duration // of e1 and e2, after the repetition; 0 means never
		want     time.Duration
	}{
		{"both", []time.Duration{2 * time.Second, time.Second}, 2 * time.Second},
		{"before the repetition", []time.Duration{-1, -1}, 0},
		{"one", []time.Duration{time.Second, 0}, 60 * time.Second},
		{"neither", []time.Duration{0, 0}, 60 * time.Second},
		{"late", []time.Duration{60*time.Second - 1, 60*time.Second - 1}, 60*time.Second - 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newURLWorld(t, v2026, `{"elicitation":{"url":{}}}`)
				w.caller.response = urlError("e1", "e2")
				first, err := w.call(t.Context(), call)
				if err != nil {
					t.Fatal(err)
				}
				for i, after := range tt.complete {
					done := func() { w.ElicitationCompleted("u", "", fmt.Appendf(nil, `{"elicitationId":"e%d"}`, i+1)) }
					switch {
					case after < 0:
						done()
					case after > 0:
						time.AfterFunc(after, done)
					}
				}
				w.caller.response = &upstream.Response{Result: []byte(`{"content":[]}`), Version: v2511}
				began := time.Now()
				got, err := w.call(t.Context(), accept(first, "e1", "e2"))
				if err != nil || !strings.Contains(got, `"resultType":"complete"`) || time.Since(began) != tt.want {
					t.Errorf("got %s, %v after %v, want a result after %v", got, err, time.Since(began), tt.want)
				}
				if params := string(w.caller.request.RawParams()); strings.Contains(params, "requestState") || strings.Contains(params, "inputResponses") {
					t.Errorf("repeated with %s", params)
				}
			})
		})
	}
}

func TestURLQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newURLWorld(t, v2026, `{"elicitation":{"url":{}}}`)
		result, params := "", call
		var err error
		for n := 1; ; n++ {
			if result, err = w.call(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			if asks := strings.Contains(result, `"input_required"`); asks != (n <= 8) {
				t.Fatalf("call %d: got %s", n, result)
			} else if !asks {
				break
			}
			params = accept(result, "e1")
		}
		if !strings.Contains(result, "https://x.example/e1") || !strings.Contains(result, `"isError":true`) {
			t.Errorf("after 8 questions: got %s", result)
		}
	})
}

func TestURLStateIsForItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newURLWorld(t, v2026, `{"elicitation":{"url":{}}}`)
		first, err := w.call(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		w.caller.request = nil
		refused := func(name, params string) {
			t.Helper()
			_, err := w.call(t.Context(), params)
			wantFault(t, err, fault.CodeInvalidParameter)
			if w.caller.request != nil {
				t.Errorf("%s: the call was sent", name)
			}
		}
		refused("another tool", strings.Replace(accept(first, "e1"), "up__echo", "up__other", 1))
		w.client.Principal = access.Administrator("bob", "p")
		refused("another principal", accept(first, "e1"))
		w.client.Principal = access.Administrator("ann", "p")
		for _, responses := range []string{`{"e1":{"action":"decline"}}`, `{"e1":{"action":"cancel"}}`, `{}`, `7`} {
			params := regexp.MustCompile(`"inputResponses":.*`).ReplaceAllLiteralString(accept(first, "e1"), `"inputResponses":`+responses+`}`)
			if got, err := w.call(t.Context(), params); err != nil || !strings.Contains(got, `"isError":true`) || w.caller.request != nil {
				t.Errorf("%s: got %s, %v", responses, got, err)
			}
		}
		time.Sleep(15*time.Minute - time.Second)
		w.caller.response = &upstream.Response{Result: []byte(`{"content":[]}`), Version: v2511}
		if _, err := w.call(t.Context(), accept(first, "e1")); err != nil {
			t.Errorf("just before the expiry: %v", err)
		}
		w.caller.request = nil
		refused("an expired state", accept(first, "e1"))
	})
}
