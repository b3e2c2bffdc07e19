package pool_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

var update = flag.Bool("update", false, "write what was received into testdata/conversations")

// TestConversations replays the calls of each archive against an upstream of
// the revision in the archive's name, and compares everything that the upstream
// received. A line of "calls" is a method and its raw params.
func TestConversations(t *testing.T) {
	paths, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		era := upstreamtest.Era(strings.TrimSuffix(filepath.Base(path), ".txtar"))
		t.Run(string(era), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{upstreamtest.Echo(), upstreamtest.Routed()}, PageSize: 1})
			p, to := newPool(t), target(s.Start(t))
			to.Headers = bearer("t")
			routed, err := upstream.ParseParamHeaders([]byte(upstreamtest.Routed().Definition))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(archive.Files[0].Data)) {
				method, params, _ := strings.Cut(strings.TrimSpace(line), " ")
				if method == "LIST" {
					if _, _, _, err := p.ListTools(testContext(t), to); err != nil {
						t.Error(err)
					}
					continue
				}
				r := &upstream.Request{Method: method, Params: []byte(params)}
				if strings.Contains(params, "routed") {
					r.ParamHeaders = routed
				}
				if _, err := p.Call(testContext(t), to, r); err != nil {
					t.Error(err)
				}
			}
			p.Close()
			got := transcript(s.Requests())
			if *update {
				archive.Files[1].Data = got
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), string(got)); diff != "" {
				t.Errorf("received requests (-want +got):\n%s", diff)
			}
		})
	}
}

// transcript formats requests. Session IDs are random and replaced by S.
func transcript(requests []upstreamtest.Recorded) []byte {
	var b bytes.Buffer
	for _, r := range requests {
		fmt.Fprintf(&b, "%s%s\n", r.HTTPMethod, session(r.Query))
		for _, name := range []string{
			"Accept", "Authorization", "Content-Type", "Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "Mcp-Protocol-Version", "Mcp-Session-Id",
		} {
			if v := r.Header.Get(name); v != "" {
				if name == "Mcp-Session-Id" {
					v = "S"
				}
				fmt.Fprintf(&b, "%s: %s\n", http.CanonicalHeaderKey(name), v)
			}
		}
		if len(r.Body) > 0 {
			fmt.Fprintf(&b, "%s\n", r.Body)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func session(q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return " with a session in the query"
}
