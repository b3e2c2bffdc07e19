package codemode_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/services/codemode"
	"mcpgateway/services/egress"
)

// fetching returns a server and a runner whose fetch reaches it on loopback.
func fetching(t *testing.T, handle http.HandlerFunc) (*httptest.Server, *codemode.Runner) {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard(nil), egress.WithFetchTo([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, uint16(port)))
	t.Cleanup(clients.Close)
	return s, runner(t, codemode.Options{Fetch: clients.Fetch()})
}

func fetchRequest(code string) codemode.Request {
	q := request(code)
	q.AllowFetch = true
	return q
}

func TestFetchResponses(t *testing.T) {
	s, r := fetching(t, func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Add("Set-Cookie", "a=b")
			body, _ := io.ReadAll(request.Body)
			fmt.Fprintf(w, `{"method":%q,"body":%q,"x":%q,"cookie":%q}`, request.Method, body, request.Header.Get("X-Test"), request.Header.Get("Cookie"))
		case "/bytes":
			_, _ = w.Write([]byte{0, 255, 1})
		case "/missing":
			w.WriteHeader(404)
		case "/there":
			http.Redirect(w, request, "/json", http.StatusFound)
		case "/big":
			_, _ = w.Write(make([]byte, codemode.MaxFetchBody+len(request.URL.RawQuery)))
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("x"))
		}
	})
	cases := []struct{ code, want string }{
		{`const r = await fetch(base + "/json", {method: "post", body: "hi", headers: {"X-Test": "1"}}); return [r.ok, r.status, r.statusText, r.headers.get("Content-Type"), r.headers.get("set-cookie"), await r.json()]`,
			`[true,200,"OK","application/json",null,{"method":"POST","body":"hi","x":"1","cookie":""}]`},
		{`const r = await fetch(base + "/bytes"); return [...new Uint8Array(await r.arrayBuffer())]`, `[0,255,1]`},
		{`const r = await fetch(base + "/missing"); return [r.ok, r.status, await r.text()]`, `[false,404,""]`},
		{`const r = await fetch(new URL("/there", base)); return [r.redirected, r.url === base + "/json", r.status]`, `[true,true,200]`},
		{`const r = await fetch(base + "/there", {redirect: "manual"}); return [r.status, r.headers.get("location")]`, `[302,"/json"]`},
		{`try { await fetch(base + "/there", {redirect: "error"}) } catch (e) { return e.message }`, `"The request was redirected."`},
		{`return (await (await fetch(base + "/big")).text()).length`, strconv.Itoa(codemode.MaxFetchBody)},
		{`try { await fetch(base + "/big?1") } catch (e) { return e.message.slice(0, 20) }`, `"The response has mor"`},
		{`try { await fetch(base + "/cut") } catch (e) { return e.message }`, `"The request failed: unexpected EOF."`},
		{`try { await fetch("file:///etc/passwd") } catch (e) { return e.message }`, `"fetch requires an absolute URL."`},
		{`try { await fetch("ftp://x/") } catch (e) { return e.message }`, `"fetch supports only http and https URLs."`},
		{`try { await fetch("http://a:b@x/") } catch (e) { return e.message.slice(0, 26) }`, `"fetch doesn't support a us"`},
		{`try { await fetch(base, {method: "CONNECT"}) } catch (e) { return e.message.slice(0, 25) }`, `"fetch supports only these"`},
		{`const out = []; for (const h of ["Host", "cookie", "Proxy-Authorization", "Sec-Fetch-Site"]) try { await fetch(base, {headers: {[h]: "x"}}) } catch (e) { out.push(e.message) } return out.length`, `4`},
		{`try { for (let i = 0; i < 30; i++) await fetch(base + "/json") } catch (e) { return e.message }`, `"A run can send at most 20 fetch requests."`},
	}
	for _, c := range cases {
		out := run(t, r, fetchRequest("const base = "+strconv.Quote(s.URL)+";\n"+c.code), newTools())
		if string(out.Result) != c.want {
			t.Errorf("%s\n = %s, want %s; error %+v", c.code, out.Result, c.want, out.Error)
		}
		for _, call := range out.Calls {
			if call.Tool != "fetch" {
				t.Errorf("call record names the tool %q, want fetch", call.Tool)
			}
		}
	}
}

func TestFetchRejectsInternalAddresses(t *testing.T) {
	var hits atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer s.Close()
	// Upstream servers may use loopback here, but fetch must not.
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	defer clients.Close()
	r := runner(t, codemode.Options{Fetch: clients.Fetch()})
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	for _, target := range []string{s.URL, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://127.0.0.1", "http://10.0.0.1/", "http://169.254.169.254/latest", "http://100.64.0.1/", "http://[fd00::1]/", "http://0.0.0.0/", "http://224.0.0.1/", "http://8.8.8.8:22/"} {
		out := run(t, r, fetchRequest(fmt.Sprintf("await fetch(%q)", target)), newTools())
		if out.Error == nil || !strings.Contains(out.Error.Message, "public addresses") {
			t.Errorf("%s: %+v", target, out.Error)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived, want none", hits.Load())
	}
}

func TestFetchInDryRunOnlyReads(t *testing.T) {
	var methods []string
	s, r := fetching(t, func(_ http.ResponseWriter, request *http.Request) { methods = append(methods, request.Method) })
	q := fetchRequest(fmt.Sprintf("const base = %q; await fetch(base); await fetch(base, {method: 'DELETE'})", s.URL))
	q.DryRun = true
	out := run(t, r, q, newTools())
	if strings.Join(methods, " ") != "GET" || len(out.Plan) != 1 {
		t.Errorf("requests %q, plan %+v, error %+v", methods, out.Plan, out.Error)
	}
}
