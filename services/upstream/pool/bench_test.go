package pool_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"mcpgateway/services/upstream"
)

// benchServer responds as fast as net/http can, so that the benchmark measures
// the client.
func benchServer(b *testing.B, revision string, events bool) string {
	answer := []byte(`,"result":{"content":[{"type":"text","text":"0123456789012345678901234567890123456789"}]}}`)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := bytes.Cut(body, []byte(`"id":`))
		id, _, _ := bytes.Cut(rest, []byte(","))
		switch {
		case bytes.Contains(body, []byte(`"tools/call"`)):
			head := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
			if events {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "event: message\ndata: %s%s\n\n", head, answer)
				w.(http.Flusher).Flush()
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(append(head, answer...))
		case bytes.Contains(body, []byte(`"server/discover"`)) && revision == "2026-07-28":
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"supportedVersions":["2026-07-28"]}}`)
		case bytes.Contains(body, []byte(`"initialize"`)):
			w.Header().Set("Mcp-Session-Id", "s")
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"protocolVersion":"`+revision+`"}}`)
		case bytes.Contains(body, []byte(`"notifications/initialized"`)):
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	b.Cleanup(srv.Close)
	return srv.URL
}

func BenchmarkCall(b *testing.B) {
	for _, bc := range []struct {
		name, revision string
		events         bool
	}{
		{"stateless", "2026-07-28", false},
		{"session", "2025-11-25", false},
		{"events", "2025-11-25", true},
	} {
		b.Run(bc.name, func(b *testing.B) {
			p, to, r := newPool(b), target(benchServer(b, bc.revision, bc.events)), echo("0123456789012345678901234567890123456789")
			ctx := context.Background()
			if _, err := p.Call(ctx, to, r); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Call(ctx, to, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bare net-http", func(b *testing.B) {
		url := benchServer(b, "2025-11-25", false)
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
		defer client.CloseIdleConnections()
		body := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + string(echo("x").Params) + `}`)
		b.ReportAllocs()
		for b.Loop() {
			req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func BenchmarkParallelCalls(b *testing.B) {
	p, to, r := newPool(b), target(benchServer(b, "2025-11-25", false)), echo("x")
	if _, err := p.Call(context.Background(), to, r); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Call(context.Background(), to, &upstream.Request{Method: r.Method, Params: r.Params}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
