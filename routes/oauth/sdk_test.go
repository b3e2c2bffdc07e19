package oauth_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcpgateway/models/modelstest"
)

const clientDocument = "https://client.example/oauth/metadata.json"

// documents is a network with only the client's document.
type documents string

func (d documents) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusNotFound, ""
	if r.URL.String() == clientDocument {
		status, body = http.StatusOK, string(d)
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))), Request: r}, nil
}

// connect connects the official client to project oa, with bob at the browser,
// and calls a tool.
func connect(t *testing.T, s *site, config *auth.AuthorizationCodeHandlerConfig) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bob := s.signIn(t, "bob@example.com")
	asked := 0
	config.AuthorizationCodeFetcher = func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		asked++
		to, err := bob.allow(ctx, args.URL)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(to)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(to, config.RedirectURL+"?") {
			t.Errorf("browser redirected to %s", to)
		}
		q := u.Query()
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	config.Client = &http.Client{Transport: transport}
	config.RequestRefreshToken = true
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.base + "/v1/mcp/oa/request", OAuthHandler: handler, HTTPClient: config.Client,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "up__echo", Arguments: map[string]any{"text": "hello"}})
	if err != nil || result.IsError || len(result.Content) == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if asked != 1 {
		t.Errorf("%d consent pages", asked)
	}
}

func TestGoSDKClientDCR(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		for _, method := range []string{"none", "client_secret_basic", "client_secret_post"} {
			t.Run(method, func(t *testing.T) {
				if method != "none" && strings.HasPrefix(dsn, "postgres") {
					dsn = modelstest.Postgres(t)
				} else if method != "none" {
					dsn = modelstest.SQLite(t)
				}
				connect(t, newSite(t, dsn, nil), &auth.AuthorizationCodeHandlerConfig{
					RedirectURL: callback,
					DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
						ClientName: "Go SDK", RedirectURIs: []string{callback}, TokenEndpointAuthMethod: method, GrantTypes: []string{"authorization_code", "refresh_token"},
					}},
				})
			})
		}
	})
}

func TestGoSDKClientCIMD(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		s := newSite(t, dsn, documents(`{"client_id":"`+clientDocument+`","client_name":"Go SDK","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"]}`))
		connect(t, s, &auth.AuthorizationCodeHandlerConfig{
			RedirectURL: callback, ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: clientDocument},
		})
		if id := clientOf(t, s); id != clientDocument {
			t.Errorf("client ID = %s", id)
		}
	})
}
