package egress_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"testing"

	"mcpgateway/services/egress"
)

func portOf(t *testing.T, raw string) uint16 {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

func get(t *testing.T, client *http.Client, target string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer secret")
	response, err := client.Do(request)
	if err == nil {
		response.Body.Close()
	}
	return response, err
}

func TestFetchReachesOnlyPublicWebPorts(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := portOf(t, s.URL)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	cases := []struct {
		name    string
		options []egress.Option
		reached bool
	}{
		{"default", nil, false},
		{"allowed address", []egress.Option{egress.WithFetchTo(loopback)}, false},
		{"allowed port", []egress.Option{egress.WithFetchTo(nil, port)}, false},
		{"allowed address and port", []egress.Option{egress.WithFetchTo(loopback, port)}, true},
	}
	for _, c := range cases {
		_, err := get(t, clients(t, egress.DefaultAllow(true), c.options...).Fetch(), s.URL)
		var blocked *egress.Blocked
		if c.reached && err != nil || !c.reached && !errors.As(err, &blocked) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, address := range []string{"http://169.254.169.254/", "http://[fe80::1]/", "http://0.0.0.0/"} {
		c := clients(t, nil, egress.WithFetchTo(prefixes("0.0.0.0/0", "::/0"), port)).Fetch()
		var blocked *egress.Blocked
		if _, err := get(t, c, address); !errors.As(err, &blocked) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestFetchRedirects(t *testing.T) {
	var seen []string
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, "other "+r.Header.Get("Authorization"))
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, "own "+r.Header.Get("Authorization"))
		switch hops, _ := strconv.Atoi(r.URL.Query().Get("hops")); {
		case r.URL.Path == "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case hops > 0:
			http.Redirect(w, r, fmt.Sprintf("/?hops=%d", hops-1), http.StatusFound)
		}
	})
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	c := clients(t, nil, egress.WithFetchTo(loopback, portOf(t, s.URL), portOf(t, other.URL))).Fetch()
	for hops, follows := range map[int]bool{4: true, 5: true, 6: false} {
		if _, err := get(t, c, fmt.Sprintf("%s/?hops=%d", s.URL, hops)); (err == nil) != follows {
			t.Errorf("%d redirects: %v", hops, err)
		}
	}
	seen = nil
	if _, err := get(t, c, s.URL+"/away"); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen) != "[own Bearer secret other ]" {
		t.Errorf("%q", seen)
	}
	// A redirect to a blocked address does not connect.
	strict := clients(t, nil, egress.WithFetchTo(loopback, portOf(t, s.URL))).Fetch()
	var blocked *egress.Blocked
	if _, err := get(t, strict, s.URL+"/away"); !errors.As(err, &blocked) {
		t.Errorf("redirect to a blocked port: %v", err)
	}
}
