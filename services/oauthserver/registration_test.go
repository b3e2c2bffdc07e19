package oauthserver_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

func TestRegistration(t *testing.T) {
	w := onSQLite(t)
	n := 0
	register := func(body string) (oauthserver.Registration, error) {
		n++
		return w.Register(t.Context(), []byte(body), fmt.Sprintf("192.0.2.%d", n))
	}
	for name, tc := range map[string]struct {
		body string
		want oauthserver.ErrorCode
		uris []string
	}{
		"Cursor": {`{"client_name":"Cursor","application_type":"web","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","https://www.cursor.com/agents/mcp/oauth/callback","http://localhost:8787/callback"]}`, "",
			[]string{"cursor://anysphere.cursor-mcp/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"}},
		"one invalid URI":     {`{"redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","javascript:1"]}`, "", []string{"cursor://anysphere.cursor-mcp/oauth/callback"}},
		"duplicate URI":       {`{"redirect_uris":["https://c.example/cb","https://c.example/cb"]}`, "", []string{"https://c.example/cb"}},
		"unknown fields":      {`{"redirect_uris":["https://c.example/cb"],"logo_uri":"javascript:1","x":{"y":[1]}}`, "", []string{"https://c.example/cb"}},
		"all bad":             {`{"redirect_uris":["javascript:1","http://c.example/"]}`, oauthserver.InvalidRedirectURI, nil},
		"none":                {`{"redirect_uris":[]}`, oauthserver.InvalidRedirectURI, nil},
		"missing":             {`{}`, oauthserver.InvalidRedirectURI, nil},
		"ten":                 {`{"redirect_uris":[` + uris(10) + `]}`, "", strings.Split(strings.ReplaceAll(uris(10), `"`, ""), ",")},
		"nine":                {`{"redirect_uris":[` + uris(9) + `]}`, "", strings.Split(strings.ReplaceAll(uris(9), `"`, ""), ",")},
		"eleven":              {`{"redirect_uris":[` + uris(11) + `]}`, oauthserver.InvalidRedirectURI, nil},
		"not JSON":            {`redirect_uris=x`, oauthserver.InvalidClientMetadata, nil},
		"array":               {`[]`, oauthserver.InvalidClientMetadata, nil},
		"wrong type":          {`{"redirect_uris":"https://c.example/cb"}`, oauthserver.InvalidClientMetadata, nil},
		"repeated":            {`{"redirect_uris":["https://c.example/cb"],"redirect_uris":[]}`, oauthserver.InvalidClientMetadata, nil},
		"deep":                {`{"x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, oauthserver.InvalidClientMetadata, nil},
		"implicit":            {`{"redirect_uris":["https://c.example/cb"],"grant_types":["implicit"]}`, oauthserver.InvalidClientMetadata, nil},
		"token response":      {`{"redirect_uris":["https://c.example/cb"],"response_types":["token"]}`, oauthserver.InvalidClientMetadata, nil},
		"unknown auth method": {`{"redirect_uris":["https://c.example/cb"],"token_endpoint_auth_method":"private_key_jwt"}`, oauthserver.InvalidClientMetadata, nil},
		"8 KiB less one":      {sized(oauthserver.MaxRegistration - 1), "", []string{"https://c.example/cb"}},
		"8 KiB":               {sized(oauthserver.MaxRegistration), "", []string{"https://c.example/cb"}},
		"8 KiB and one":       {sized(oauthserver.MaxRegistration + 1), oauthserver.InvalidClientMetadata, nil},
	} {
		made, err := register(tc.body)
		t.Run(name, func(t *testing.T) {
			if tc.want != "" {
				refused(t, err, tc.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(models.StringList(tc.uris), made.Client.RedirectURIs); d != "" {
				t.Errorf("redirect URIs (-want +got):\n%s", d)
			}
			if made.Client.AuthMethod != models.AuthMethodNone || !made.Secret.IsZero() {
				t.Errorf("public client = %+v", made.Client)
			}
		})
	}
}

func uris(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"https://c.example/%d"`, i)
	}
	return strings.Join(all, ",")
}

// sized returns a registration of so many bytes.
func sized(n int) string {
	const body = `{"redirect_uris":["https://c.example/cb"],"x":"%s"}`
	return fmt.Sprintf(body, strings.Repeat("x", n-len(body)+2))
}

func TestRegistrationsAreLimited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		register := func(ip string) error {
			_, err := w.Register(t.Context(), []byte(`{"redirect_uris":["https://c.example/cb"]}`), ip)
			return err
		}
		for i := range oauthserver.RegistrationsPerHour {
			if err := register(fmt.Sprintf("2001:db8::%d", i)); err != nil {
				t.Fatalf("registration %d: %v", i+1, err)
			}
		}
		failed(t, register("2001:db8::ffff"), fault.CodeRateLimited)
		for _, other := range []string{"2001:db8:0:1::1", "192.0.2.1", "::ffff:192.0.2.1"} {
			if err := register(other); err != nil {
				t.Errorf("%s: %v", other, err)
			}
		}
		w.Advance(time.Hour)
		if err := register("2001:db8::1"); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestClientNamesAreSanitized(t *testing.T) {
	w := onSQLite(t)
	for i, tc := range []struct{ name, want string }{
		{"Claude Code", "Claude Code"},
		{"  a \t b\n", "a b"},
		{"a\u202eb\u200bc\u0000d\u0007e\ufeff", "abcde"},
		{"<script>alert(1)</script>", "<script>alert(1)</script>"}, // escaped on display
		{strings.Repeat("ä", oauthserver.MaxClientName), strings.Repeat("ä", oauthserver.MaxClientName)},
		{strings.Repeat("ä", oauthserver.MaxClientName+1), strings.Repeat("ä", oauthserver.MaxClientName-1) + "…"},
		{"Übersicht 日本", "Übersicht 日本"},
	} {
		body, err := json.Marshal(map[string]any{"client_name": tc.name, "redirect_uris": []string{"https://c.example/cb"}})
		if err != nil {
			t.Fatal(err)
		}
		made, err := w.Register(t.Context(), body, fmt.Sprintf("192.0.2.%d", i))
		if err != nil || made.Client.Name != tc.want {
			t.Errorf("name %q stored as %q, %v", tc.name, made.Client.Name, err)
		}
	}
}

func TestClientSecrets(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := map[models.AuthMethod]oauthserver.Registration{}
		for _, method := range []models.AuthMethod{models.AuthMethodBasic, models.AuthMethodPost} {
			r, err := w.Register(t.Context(), []byte(`{"redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"`+string(method)+`"}`), "192.0.2.1")
			if err != nil || r.Secret.IsZero() {
				t.Fatalf("%s: %v", method, err)
			}
			made[method] = r
		}
		basic := func(id, secret string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
		}
		b, p := made[models.AuthMethodBasic], made[models.AuthMethodPost]
		for name, tc := range map[string]struct {
			id, secret, header string
			want               oauthserver.ErrorCode // "" if authentication succeeds and only the code is wrong
		}{
			"basic":                  {"", "", basic(b.Client.ID, b.Secret.Reveal()), ""},
			"basic and id":           {b.Client.ID, "", basic(b.Client.ID, b.Secret.Reveal()), ""},
			"post":                   {p.Client.ID, p.Secret.Reveal(), "", ""},
			"basic as post":          {b.Client.ID, b.Secret.Reveal(), "", oauthserver.InvalidClient},
			"post as basic":          {"", "", basic(p.Client.ID, p.Secret.Reveal()), oauthserver.InvalidClient},
			"no secret":              {p.Client.ID, "", "", oauthserver.InvalidClient},
			"secret of other client": {p.Client.ID, b.Secret.Reveal(), "", oauthserver.InvalidClient},
			"both":                   {b.Client.ID, b.Secret.Reveal(), basic(b.Client.ID, b.Secret.Reveal()), oauthserver.InvalidRequest},
			"two IDs":                {p.Client.ID, "", basic(b.Client.ID, b.Secret.Reveal()), oauthserver.InvalidClient},
			"bearer":                 {b.Client.ID, "", "Bearer x", oauthserver.InvalidClient},
			"broken basic":           {b.Client.ID, "", "Basic %", oauthserver.InvalidClient},
			"basic without colon":    {"", "", "Basic " + base64.StdEncoding.EncodeToString([]byte("x")), oauthserver.InvalidClient},
		} {
			form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"x"}}
			change(form, []string{"client_id", tc.id, "client_secret", tc.secret})
			_, err := w.Token(t.Context(), form, tc.header)
			want := tc.want
			if want == "" {
				want = oauthserver.InvalidGrant
			}
			t.Run(name, func(t *testing.T) { refused(t, err, want) })
		}
	})
}

func TestClientGC(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made, err := w.Register(t.Context(), []byte(`{"client_name":"unused","redirect_uris":["https://c.example/cb"]}`), "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		used := w.register(t)
		tokens := w.grant(t, "bob", used)
		known := func(id string) bool {
			var n int64
			if err := w.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.db.Model(&models.OAuthClient{}).Where("id = ?", id).Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n == 1
		}
		w.Advance(oauthserver.UnusedClientLife - time.Millisecond)
		if !known(made.Client.ID) {
			t.Error("unused client deleted within a day")
		}
		w.Advance(time.Millisecond)
		if known(made.Client.ID) || !known(used) {
			t.Error("after a day: unused client exists or used client is deleted")
		}
		// Every refresh counts as use.
		for range 4 {
			w.Advance(20 * 24 * time.Hour)
			tokens = w.later(t, used, tokens)
		}
		w.Advance(oauthserver.IdleClientLife - time.Millisecond)
		if !known(used) {
			t.Error("idle client deleted within 90 days")
		}
		w.Advance(time.Millisecond)
		if known(used) {
			t.Error("idle client exists after 90 days")
		}
		_, err = w.refresh(t.Context(), used, tokens.Refresh.Reveal())
		refused(t, err, oauthserver.InvalidClient)
		if d := cmp.Diff([]string{"client.registered", "oauth.consented", "client.purged"}, w.actions(t)); d != "" {
			t.Errorf("audit (-want +got):\n%s", d)
		}
	})
}

func TestClientGCDeletesAll(t *testing.T) {
	w := onSQLite(t)
	rows := make([]models.OAuthClient, 250)
	for i := range rows {
		rows[i] = models.OAuthClient{
			ID: fmt.Sprint("gwc_", i), Kind: models.ClientRegistered, RedirectURIs: models.StringList{callback}, AuthMethod: models.AuthMethodNone, SecretHash: []byte{}, CreatedAt: w.Now(),
		}
	}
	w.create(t, &rows)
	w.Advance(oauthserver.UnusedClientLife)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var n int64
	if err := w.db.Model(&models.OAuthClient{}).Count(&n).Error; err != nil || n != 0 || len(w.actions(t)) != 0 {
		t.Errorf("%d clients remain, %d audit entries, %v", n, len(w.actions(t)), err)
	}
}
