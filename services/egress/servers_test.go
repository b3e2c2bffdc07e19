package egress_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpgateway/services/certificates/certificatestest"
	"mcpgateway/services/egress"
	"mcpgateway/services/secrets"
)

// fixed returns a source of TLS settings.
func fixed(s egress.ServerTLS) func() (egress.ServerTLS, error) {
	return func() (egress.ServerTLS, error) { return s, nil }
}

// peer responds with the name of the client's certificate.
func peer(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "%d certificates", len(r.TLS.PeerCertificates))
}

func TestServerTLS(t *testing.T) {
	ours, theirs := certificatestest.New(t), certificatestest.New(t)
	certificate, key := ours.Issue(t)
	other, otherKey := theirs.Issue(t)
	plain := ours.Serve(t, http.HandlerFunc(peer), nil, 0)
	guarded := ours.Serve(t, http.HandlerFunc(peer), ours, 0)
	guarded12 := ours.Serve(t, http.HandlerFunc(peer), ours, tls.VersionTLS12)
	old := ours.Serve(t, http.HandlerFunc(peer), nil, tls.VersionTLS11)
	with := func(ca, cert, key string) egress.ServerTLS {
		return egress.ServerTLS{Authorities: ca, Certificate: cert, Key: secrets.NewValue(key)}
	}
	c := clients(t, egress.DefaultAllow(true))
	for i, tt := range []struct {
		url      string
		settings egress.ServerTLS
		body     string // "" fails
		why      string
	}{
		{plain, with(ours.PEM, "", ""), "0 certificates", ""},
		{plain, with(theirs.PEM+ours.PEM, "", ""), "0 certificates", ""},
		{plain, with(ours.PEM, certificate, key), "0 certificates", ""}, // not requested
		{plain, with("", "", ""), "", "the certificate is not trusted"},
		{plain, with(theirs.PEM, "", ""), "", "the certificate is not trusted"},
		{guarded, with(ours.PEM, certificate, key), "1 certificates", ""},
		{guarded12, with(ours.PEM, certificate, key), "1 certificates", ""},
		{guarded, with(ours.PEM, "", ""), "", "the server rejected the gateway's client certificate"},
		{guarded12, with(ours.PEM, "", ""), "", "certificate"},
		{guarded, with(ours.PEM, other, otherKey), "", "the server rejected the gateway's client certificate"},
		{guarded, with(ours.PEM, certificate, otherKey), "", "its certificate settings are invalid"},
		{plain, with("no PEM", "", ""), "", "its certificate settings are invalid"},
	} {
		for range 2 { // also over an idle connection
			_, body, err := post(t, c.Server(fmt.Sprint(i), tt.url, fixed(tt.settings)), tt.url)
			why, text, _ := egress.IsCertificateError(err)
			if body != tt.body || (err == nil) != (tt.body != "") || !strings.Contains(why, tt.why) {
				t.Errorf("%d: %q, %v (%q, %q), want %q, %q", i, body, err, why, text, tt.body, tt.why)
			}
			if strings.Contains(fmt.Sprint(err), "PRIVATE KEY") {
				t.Errorf("%d: the error contains a key: %v", i, err)
			}
		}
	}
	if _, _, err := post(t, c.Server("old", old, fixed(with(ours.PEM, "", ""))), old); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	// The settings are not those of other clients, other servers and other origins.
	if _, _, err := post(t, c.MCP(), plain); err == nil {
		t.Error("another client trusts the authority")
	}
	if _, _, err := post(t, c.Server("x", guarded, fixed(with(ours.PEM, certificate, key))), plain); err == nil {
		t.Error("another origin is trusted")
	}
	broken := errors.New("no file")
	if _, _, err := post(t, c.Server("0", plain, func() (egress.ServerTLS, error) { return egress.ServerTLS{}, broken }), plain); !errors.Is(err, broken) {
		t.Errorf("error = %v, want that of the source", err)
	}
}

// TestChangedServerTLS changes the settings of a server with an idle connection.
func TestChangedServerTLS(t *testing.T) {
	ours, theirs := certificatestest.New(t), certificatestest.New(t)
	url := ours.Serve(t, http.HandlerFunc(peer), nil, 0)
	c := clients(t, egress.DefaultAllow(true))
	settings := egress.ServerTLS{Authorities: ours.PEM}
	client := c.Server("s", url, func() (egress.ServerTLS, error) { return settings, nil })
	for range 3 {
		if _, _, err := post(t, client, url); err != nil {
			t.Fatal(err)
		}
	}
	if n := egress.IdleOf(c, "s"); n != 1 {
		t.Errorf("%d idle connections, want 1", n)
	}
	settings.Authorities = theirs.PEM
	if _, _, err := post(t, client, url); err == nil {
		t.Error("the connection with the former settings was used")
	}
	settings.Authorities = ours.PEM
	if _, _, err := post(t, client, url); err != nil {
		t.Error(err)
	}
	c.Forget("s")
	c.Forget("unknown")
	if n := egress.IdleOf(c, "s"); n != -1 {
		t.Errorf("%d idle connections of a forgotten server", n)
	}
}

func TestServerTLSIsBounded(t *testing.T) {
	ours := certificatestest.New(t)
	url := ours.Serve(t, http.HandlerFunc(peer), nil, 0)
	c := clients(t, egress.DefaultAllow(true))
	use := func(id string) {
		if _, _, err := post(t, c.Server(id, url, fixed(egress.ServerTLS{Authorities: ours.PEM})), url); err != nil {
			t.Fatal(err)
		}
	}
	use("first")
	use("second")
	egress.FillServers(c)
	use("first")
	if egress.IdleOf(c, "first") != 1 || egress.IdleOf(c, "second") != 1 {
		t.Error("closed below the limit")
	}
	use("one more")
	if egress.IdleOf(c, "first") != 1 || egress.IdleOf(c, "second") != -1 || egress.IdleOf(c, "one more") != 1 {
		t.Error("not the oldest was closed")
	}
}

func TestServerTLSConcurrently(t *testing.T) {
	ours := certificatestest.New(t)
	url := ours.Serve(t, http.HandlerFunc(peer), nil, 0)
	c := clients(t, egress.DefaultAllow(true))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for j := range 5 {
				settings := egress.ServerTLS{Authorities: ours.PEM + strings.Repeat("\n", (i+j)%2)}
				if _, _, err := post(t, c.Server("s", url, fixed(settings)), url); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
