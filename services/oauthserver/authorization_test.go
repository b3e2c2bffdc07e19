package oauthserver_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

func TestPKCE(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	for name, tc := range map[string]struct {
		changes []string
		ok      bool
	}{
		"S256 with 43 characters": {nil, true},
		"missing":                 {[]string{"code_challenge", ""}, false},
		"missing altogether":      {[]string{"code_challenge", "", "code_challenge_method", ""}, false},
		"method missing":          {[]string{"code_challenge_method", ""}, false},
		"plain":                   {[]string{"code_challenge_method", "plain"}, false},
		"s256":                    {[]string{"code_challenge_method", "s256"}, false},
		"42 characters":           {[]string{"code_challenge", challenge(verifier)[:42]}, false},
		"44 characters":           {[]string{"code_challenge", challenge(verifier) + "A"}, false},
		"padded":                  {[]string{"code_challenge", challenge(verifier)[:42] + "="}, false},
		"base64 instead of url":   {[]string{"code_challenge", challenge(verifier)[:42] + "+"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			consent, err := w.Authorize(t.Context(), query(client, tc.changes...), person("bob"))
			if tc.ok {
				if err != nil || consent.Sealed == "" {
					t.Fatalf("got %+v, %v", consent, err)
				}
				return
			}
			denied(t, err, oauthserver.InvalidRequest, "st")
		})
	}
	code := w.code(t, "bob", client)
	for name, tc := range map[string]string{
		"none": "", "another": strings.Repeat("x", 50), "42": strings.Repeat("x", 42), "129": strings.Repeat("x", 129), "the challenge": challenge(verifier),
	} {
		if _, err := w.exchange(t.Context(), client, code, "code_verifier", tc); err == nil {
			t.Errorf("%s: code was exchanged", name)
		} else {
			refused(t, err, oauthserver.InvalidGrant)
		}
	}
	if _, err := w.exchange(t.Context(), client, code); err != nil {
		t.Errorf("correct verifier after wrong ones: %v", err)
	}
}

func TestUnknownRedirectsAreNotFollowed(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	for name, changes := range map[string][]string{
		"unknown client":     {"client_id", "x"},
		"no client":          {"client_id", ""},
		"no redirect":        {"redirect_uri", ""},
		"other redirect":     {"redirect_uri", "https://evil.example/"},
		"longer path":        {"redirect_uri", callback + "/x"},
		"other host":         {"redirect_uri", "http://localhost:4711/callback"},
		"script":             {"redirect_uri", "javascript:alert(1)"},
		"document over http": {"client_id", "http://client.example/doc"},
		"document by name":   {"client_id", "https://localhost/doc"},
	} {
		for _, who := range []*oauthserver.User{nil, person("bob")} {
			_, err := w.Authorize(t.Context(), query(client, changes...), who)
			if !fault.Is(err, fault.CodeInvalidParameter) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	twice := query(client)
	twice.Add("redirect_uri", callback)
	if _, err := w.Authorize(t.Context(), twice, person("bob")); !fault.Is(err, fault.CodeInvalidParameter) {
		t.Errorf("two redirects: %v", err)
	}
	if _, err := w.Authorize(t.Context(), query(client), nil); !fault.Is(err, fault.CodeUnauthorized) {
		t.Errorf("not signed in: %v", err)
	}
}

func TestIss(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		repeated := query(client)
		repeated.Add("scope", "mcp:read")
		for name, tc := range map[string]struct {
			query url.Values
			code  oauthserver.ErrorCode
			state string
		}{
			"response type":    {query(client, "response_type", "token"), oauthserver.UnsupportedResponseType, "st"},
			"no response type": {query(client, "response_type", ""), oauthserver.InvalidRequest, "st"},
			"scope":            {query(client, "scope", "openid"), oauthserver.InvalidScope, "st"},
			"target":           {query(client, "resource", "https://other.example/"), oauthserver.InvalidTarget, "st"},
			"repeated":         {repeated, oauthserver.InvalidRequest, "st"},
			"request object":   {query(client, "request", "x"), oauthserver.RequestNotSupported, "st"},
			"request uri":      {query(client, "request_uri", "x"), oauthserver.RequestURINotSupported, "st"},
			"without state":    {query(client, "state", "", "response_type", "token"), oauthserver.UnsupportedResponseType, ""},
		} {
			_, err := w.Authorize(t.Context(), tc.query, person("bob"))
			t.Run(name, func(t *testing.T) { denied(t, err, tc.code, tc.state) })
		}
		consent, err := w.Authorize(t.Context(), query(client, "state", "a b&c=d"), person("bob"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Decide(t.Context(), *person("bob"), consent.Sealed, "", false)
		denied(t, err, oauthserver.AccessDenied, "a b&c=d")
		to, err := w.Decide(t.Context(), *person("bob"), consent.Sealed, "", true)
		if err != nil {
			t.Fatal(err)
		}
		if answer := answerOf(t, to); answer.Get("iss") != w.Issuer() || w.Issuer() != issuer || answer.Get("state") != "a b&c=d" || answer.Get("code") == "" || answer.Has("error") {
			t.Errorf("response URL %s", to)
		}
	})
}

func TestConsentIsBoundToBrowserSession(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	consent, err := w.Authorize(t.Context(), query(client), person("bob"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		who    oauthserver.User
		sealed string
	}{
		"other session":     {oauthserver.User{ID: "bob", SessionID: "other"}, consent.Sealed},
		"no session":        {oauthserver.User{ID: "bob"}, consent.Sealed},
		"other user":        {oauthserver.User{ID: "cy", SessionID: "browser of bob"}, consent.Sealed},
		"not signed in":     {oauthserver.User{}, consent.Sealed},
		"nothing":           {*person("bob"), ""},
		"something":         {*person("bob"), "AAAA"},
		"changed character": {*person("bob"), consent.Sealed[:len(consent.Sealed)-1] + "!"},
	} {
		for _, allow := range []bool{true, false} {
			if _, err := w.Decide(t.Context(), tc.who, tc.sealed, "", allow); !fault.Is(err, fault.CodeForbidden) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w.Advance(oauthserver.ConsentLife - 1)
	if _, err := w.Decide(t.Context(), *person("bob"), consent.Sealed, "", true); err != nil {
		t.Errorf("before expiry: %v", err)
	}
	w.Advance(1)
	if _, err := w.Decide(t.Context(), *person("bob"), consent.Sealed, "", true); !fault.Is(err, fault.CodeForbidden) {
		t.Errorf("after expiry: %v", err)
	}
}

func TestResourceIndicator(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		for _, tc := range []struct {
			resource string
			project  string // "" is rejected, "?" is the user's choice
		}{
			{issuer + "/v1/mcp/oa/request", "oa"},
			{issuer + "/v1/mcp/oa/request/", "oa"},
			{issuer + "/v1/mcp/ob/sse", "ob"},
			{"HTTPS://Gateway.EXAMPLE/v1/mcp/oa/request", "oa"},
			{"https://gateway.example:443/v1/mcp/oa/request", "oa"},
			{"", "?"},
			{issuer, "?"},
			{issuer + "/", "?"},
			{issuer + "//", ""},
			{issuer + "/v1/mcp/oa/request//", ""},
			{issuer + "/v1/mcp/OA/request", ""},
			{issuer + "/v1/mcp/oa", ""},
			{issuer + "/v1/mcp/oa/other", ""},
			{issuer + "/v1/mcp/zzz/request", ""},
			{issuer + "/v1/mcp/key/request", ""},
			{issuer + "/v1/mcp/oa/request?x=1", ""},
			{issuer + "/v1/mcp/oa/request#x", ""},
			{issuer + "/v1/mcp/o%61/request", ""},
			{issuer + ":8443/v1/mcp/oa/request", ""},
			{"http://gateway.example/v1/mcp/oa/request", ""},
			{"https://user@gateway.example/v1/mcp/oa/request", ""},
			{"https://gateway.example.evil.example/v1/mcp/oa/request", ""},
			{"/v1/mcp/oa/request", ""},
			{"%", ""},
		} {
			consent, err := w.Authorize(t.Context(), query(client, "resource", tc.resource), person("bob"))
			switch tc.project {
			case "":
				denied(t, err, oauthserver.InvalidTarget, "st")
			case "?":
				if err != nil || consent.Named {
					t.Fatalf("%q: %+v, %v", tc.resource, consent, err)
				}
				var slugs []string
				for _, p := range consent.Projects {
					slugs = append(slugs, p.Slug)
				}
				if d := cmp.Diff([]string{"members", "oa", "ob"}, slugs); d != "" {
					t.Errorf("%q: choices (-want +got):\n%s", tc.resource, d)
				}
			default:
				if err != nil || !consent.Named || len(consent.Projects) != 1 || consent.Projects[0].Slug != tc.project {
					t.Errorf("%q: %+v, %v", tc.resource, consent, err)
				}
			}
		}
		several := query(client)
		several.Add("resource", issuer+"/v1/mcp/ob/request")
		_, err := w.Authorize(t.Context(), several, person("bob"))
		denied(t, err, oauthserver.InvalidTarget, "st")
		same := query(client)
		same.Add("resource", issuer+"/v1/mcp/oa/sse")
		if _, err := w.Authorize(t.Context(), same, person("bob")); err != nil {
			t.Errorf("two endpoints of a project: %v", err)
		}
	})
}

func TestProjectChoice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		ask := func() string {
			consent, err := w.Authorize(t.Context(), query(client, "resource", ""), person("cy"))
			if err != nil {
				t.Fatal(err)
			}
			return consent.Sealed
		}
		_, err := w.Decide(t.Context(), *person("cy"), ask(), "", true)
		failed(t, err, fault.CodeValidationFailed)
		for _, foreign := range []string{"id-members", "id-key", "id-zzz"} {
			_, err = w.Decide(t.Context(), *person("cy"), ask(), foreign, true)
			denied(t, err, oauthserver.AccessDenied, "st")
		}
		to, err := w.Decide(t.Context(), *person("cy"), ask(), "id-ob", true)
		if err != nil {
			t.Fatal(err)
		}
		code := answerOf(t, to).Get("code")
		_, err = w.exchange(t.Context(), client, code)
		refused(t, err, oauthserver.InvalidTarget) // oa was not chosen
		tokens, err := w.exchange(t.Context(), client, code, "resource", issuer)
		if err != nil || !w.opens(t, tokens.Access, "ob") || w.opens(t, tokens.Access, "oa") {
			t.Errorf("chosen project: %v", err)
		}
		// A choice can't replace the requested project.
		consent, err := w.Authorize(t.Context(), query(client), person("cy"))
		if err != nil {
			t.Fatal(err)
		}
		if to, err = w.Decide(t.Context(), *person("cy"), consent.Sealed, "id-ob", true); err != nil {
			t.Fatal(err)
		}
		if tokens, err = w.exchange(t.Context(), client, answerOf(t, to).Get("code")); err != nil || w.opens(t, tokens.Access, "ob") {
			t.Errorf("requested project was replaced: %v", err)
		}
	})
}

func TestAuthorizationRequiresAccess(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		members := []string{"resource", issuer + "/v1/mcp/members/request"}
		for who, allowed := range map[string]bool{"ann": true, "bob": true, "cy": false} {
			_, err := w.Authorize(t.Context(), query(client, members...), person(who))
			if allowed && err != nil {
				t.Errorf("%s: %v", who, err)
			}
			if !allowed {
				denied(t, err, oauthserver.AccessDenied, "st")
			}
		}
		tokens := w.grant(t, "bob", client, members...)
		if !w.opens(t, tokens.Access, "members") {
			t.Fatal("member's token rejected")
		}
		if err := w.db.Where("user_id = ?", "bob").Delete(&models.ProjectMember{}).Error; err != nil {
			t.Fatal(err)
		}
		w.publishPeople(t)
		if w.opens(t, tokens.Access, "members") {
			t.Error("token valid after removal from the project")
		}
		_, err := w.refresh(t.Context(), client, tokens.Refresh.Reveal())
		refused(t, err, oauthserver.InvalidGrant)
		tokens = w.grant(t, "bob", client)
		if err := w.db.Model(&models.Project{}).Where("slug = ?", "oa").Update("oauth_access", models.OAuthMembers).Error; err != nil {
			t.Fatal(err)
		}
		if w.opens(t, tokens.Access, "oa") {
			t.Error("token of a non-member valid for a members project")
		}
	})
}
