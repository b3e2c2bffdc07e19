package oauthserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

const document = "https://client.example/oauth/metadata.json"

// served responds to every request with a document.
func served(status int, header http.Header, body string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		if header == nil {
			header = http.Header{"Content-Type": {"application/json"}}
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

// metadata returns a valid document with changes; nil removes a field.
func metadata(changes map[string]any) string {
	m := map[string]any{"client_id": document, "client_name": "Example", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "none"}
	for k, v := range changes {
		if m[k] = v; v == nil {
			delete(m, k)
		}
	}
	b, _ := json.Marshal(m) // only strings, numbers and lists
	return string(b)
}

func TestCIMD(t *testing.T) {
	w := onSQLite(t)
	ask := func(id string) (*oauthserver.Authorization, error) {
		return w.Authorize(t.Context(), query(id), person("bob"))
	}
	for _, id := range []string{
		"http://client.example/doc", "https://client.example", "https://client.example/", "https://client.example/doc#x", "https://user@client.example/doc",
		"https://client.example/a/../doc", "https://client.example/./doc", "https://client.example/%2e%2e/doc", "https://client.example:8443/doc",
		"https://127.0.0.1/doc", "https://10.0.0.1/doc", "https://[::1]/doc", "https://localhost/doc", "https:client.example/doc", "https://client.example:443x/doc",
		"https://client.example/" + strings.Repeat("x", oauthserver.MaxDocumentClientID),
	} {
		w.docs = func(*http.Request) (*http.Response, error) {
			t.Errorf("%s was fetched", id)
			return nil, errors.New("no")
		}
		if _, err := ask(id); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("%s: %v", id, err)
		}
	}
	padded := func(n int) string {
		short := metadata(map[string]any{"x": ""})
		return metadata(map[string]any{"x": strings.Repeat("x", n-len(short))})
	}
	for name, docs := range map[string]roundTrip{
		"id mismatch":    served(200, nil, metadata(map[string]any{"client_id": document + "/"})),
		"no id":          served(200, nil, metadata(map[string]any{"client_id": nil})),
		"redirect":       served(302, http.Header{"Location": {document}, "Content-Type": {"application/json"}}, metadata(nil)),
		"not found":      served(404, nil, metadata(nil)),
		"partial":        served(206, nil, metadata(nil)),
		"HTML":           served(200, http.Header{"Content-Type": {"text/html"}}, metadata(nil)),
		"no type":        served(200, http.Header{}, metadata(nil)),
		"not JSON":       served(200, nil, "<html>"),
		"repeated names": served(200, nil, strings.Replace(metadata(nil), "{", `{"client_id":"https://evil.example/",`, 1)),
		"5 KiB and one":  served(200, nil, padded(oauthserver.MaxDocument+1)),
		"endless":        func(r *http.Request) (*http.Response, error) { return endless(r), nil },
		"client secret":  served(200, nil, metadata(map[string]any{"client_secret": "x"})),
		"secret's end":   served(200, nil, metadata(map[string]any{"client_secret_expires_at": 0})),
		"post method":    served(200, nil, metadata(map[string]any{"token_endpoint_auth_method": "client_secret_post"})),
		"key method":     served(200, nil, metadata(map[string]any{"token_endpoint_auth_method": "private_key_jwt"})),
		"no redirects":   served(200, nil, metadata(map[string]any{"redirect_uris": nil})),
		"bad redirects":  served(200, nil, metadata(map[string]any{"redirect_uris": []string{"javascript:1"}})),
		"no such host": func(*http.Request) (*http.Response, error) {
			return nil, errors.New("lookup client.example: secret.internal")
		},
		"name with private address": egress.NewClients(egress.NewGuard(nil)).MCP().Transport.RoundTrip,
	} {
		w.docs = docs
		id := document
		if name == "name with private address" {
			id = "https://localhost.localdomain/doc" // resolves to loopback or not at all
		}
		_, err := ask(id)
		if !fault.Is(err, fault.CodeInvalidParameter) || strings.Contains(fault.From(err).Message, "secret.internal") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var stored int64
	if err := w.db.Model(&models.OAuthClient{}).Count(&stored).Error; err != nil || stored != 0 {
		t.Fatalf("%d invalid documents stored, %v", stored, err)
	}
	w.docs = served(200, nil, padded(oauthserver.MaxDocument))
	consent, err := ask(document)
	if err != nil || consent.ClientHost != "client.example" || consent.ClientName != "Example" || consent.ClientID != document {
		t.Fatalf("valid document of 5 KiB: %+v, %v", consent, err)
	}
	if tokens := w.grant(t, "bob", document); !w.opens(t, tokens.Access, "oa") {
		t.Error("token rejected")
	}
}

func endless(r *http.Request) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(zeros{}), Request: r}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestDocumentLifetimes(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"":                          oauthserver.DocumentMinTTL,
		"no-store":                  oauthserver.DocumentMinTTL,
		"max-age=3600, no-cache":    oauthserver.DocumentMinTTL,
		"max-age=1":                 oauthserver.DocumentMinTTL,
		"max-age=-5":                oauthserver.DocumentMinTTL,
		"max-age=x":                 oauthserver.DocumentMinTTL,
		"public, Max-Age=3600":      time.Hour,
		`max-age="3600"`:            time.Hour,
		"max-age=99999999":          oauthserver.DocumentMaxTTL,
		"max-age=99999999999999999": oauthserver.DocumentMaxTTL,
	} {
		t.Run(header, func(t *testing.T) {
			w := onSQLite(t)
			reads := 0
			w.docs = func(r *http.Request) (*http.Response, error) {
				reads++
				return served(200, http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Cache-Control": {header}}, metadata(map[string]any{"client_name": fmt.Sprint("name ", reads)}))(r)
			}
			ask := func(name string) {
				t.Helper()
				consent, err := w.Authorize(t.Context(), query(document), person("bob"))
				if err != nil || consent.ClientName != name {
					t.Fatalf("%+v, %v", consent, err)
				}
			}
			ask("name 1")
			w.Advance(want - time.Millisecond)
			ask("name 1")
			w.Advance(time.Millisecond)
			ask("name 2")
			// Failures are not cached.
			w.Advance(want)
			good := w.docs
			w.docs = served(500, nil, "")
			if _, err := w.Authorize(t.Context(), query(document), person("bob")); err == nil {
				t.Error("expired document was used")
			}
			w.docs = good
			ask("name 3")
		})
	}
}

func TestDocumentsRequireSignIn(t *testing.T) {
	w := onSQLite(t)
	w.docs = func(*http.Request) (*http.Response, error) {
		t.Error("document fetched without a user")
		return nil, errors.New("no")
	}
	_, err := w.Authorize(t.Context(), query(document), nil)
	failed(t, err, fault.CodeUnauthorized)
	reads := 0
	w.docs = func(r *http.Request) (*http.Response, error) { reads++; return served(500, nil, "")(r) }
	for range oauthserver.DocumentsPerHour {
		_, err = w.Authorize(t.Context(), query(document), person("bob"))
		failed(t, err, fault.CodeInvalidParameter)
	}
	_, err = w.Authorize(t.Context(), query(document), person("bob"))
	failed(t, err, fault.CodeRateLimited)
	if reads != oauthserver.DocumentsPerHour {
		t.Errorf("%d fetches", reads)
	}
}

func TestPrivateDocumentHostsAreBlocked(t *testing.T) {
	guard := egress.NewGuard(nil)
	for _, addr := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1"} {
		if guard.Check(netip.MustParseAddr(addr)) == nil {
			t.Errorf("%s is allowed", addr)
		}
	}
}
