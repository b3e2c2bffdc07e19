package inventory_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/pool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// everything are the capabilities of an upstream that announces every change.
const everything = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`

// newPool returns a pool that is closed after the test.
func newPool(t testing.TB) *pool.Pool {
	t.Helper()
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	p := pool.New(clients.MCP(), "1.2.3")
	t.Cleanup(func() {
		p.Close()
		clients.Close()
	})
	return p
}

// testContext returns a context that ends with the test or after a minute.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// noSecrets resolves only empty secrets.
type noSecrets struct{}

func (noSecrets) Resolve(stored, _ string) (secrets.Value, error) {
	if stored != "" {
		return secrets.Value{}, errors.New("there are no secrets here")
	}
	return secrets.Value{}, nil
}

// wantFault checks the code of a fault and its text.
func wantFault(t testing.TB, err error, code fault.Code, text ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want fault %s", err, code)
	}
	for _, s := range text {
		if !strings.Contains(fault.From(err).AdminMessage(), s) {
			t.Errorf("AdminMessage() = %q, want text %q", fault.From(err).AdminMessage(), s)
		}
	}
}

// rpc is a JSON-RPC message as hand-written upstreams receive it.
type rpc struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// received decodes the message of a request.
func received(r *http.Request) rpc {
	var m rpc
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	return m
}

func writeJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// inProcess passes requests to a handler without a network, so that time can be
// virtual.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Host
}

// retry repeats try for a while, such as listening on a port that was in use.
func retry(try func() error) (err error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-tick.C {
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}
