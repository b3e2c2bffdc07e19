package oauthserver_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/oauthserver"
)

// run runs the process's change feed until stop is called.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.feed.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// countReads counts database reads from now on.
func (w *world) countReads(t *testing.T) *atomic.Int64 {
	t.Helper()
	var reads atomic.Int64
	count := func(*gorm.DB) { reads.Add(1) }
	for _, err := range []error{
		w.db.Callback().Query().Before("*").Register("count", count), w.db.Callback().Row().Before("*").Register("count", count), w.db.Callback().Raw().Before("*").Register("count", count),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &reads
}

func TestTokensAreCached(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	tokens := w.grant(t, "bob", client, "scope", "mcp:read")
	project := models.Project{ID: "id-oa", OAuthAccess: models.OAuthAnyone}
	reads := w.countReads(t)
	find := func(text string, want bool) {
		t.Helper()
		holder, ok, err := w.index.Find(t.Context(), project.ID, "", text)
		if err != nil || ok != want {
			t.Fatalf("%v, %v", ok, err)
		}
		if want && (holder.UserID != "bob" || len(holder.Scopes) != 1 || holder.Scopes[0] != access.ScopeRead) {
			t.Fatalf("Find() = %+v", holder)
		}
	}
	for range 100 {
		find(tokens.Access.Reveal(), true)
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("100 checks of a token: %d reads", n)
	}
	// Malformed tokens are not looked up.
	good := tokens.Access.Reveal()
	for _, text := range []string{"", "x", tokens.Refresh.Reveal(), "gwat_" + strings.Repeat("0", 49), good + "x", good[:20] + "!" + good[21:]} {
		find(text, false)
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("malformed tokens: %d reads", n)
	}
	// Rejected tokens are not looked up again at once.
	if err := w.db.Exec("DELETE FROM oauth_tokens").Error; err != nil {
		t.Fatal(err)
	}
	w.publishPeople(t)
	reads.Store(0)
	for range 100 {
		find(good, false)
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("100 checks of a rejected token: %d reads", n)
	}
}

func TestFailedReadRejectsToken(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	tokens := w.grant(t, "bob", client)
	project := models.Project{ID: "id-oa", OAuthAccess: models.OAuthAnyone}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if holder, ok, err := w.index.Find(ctx, project.ID, "", tokens.Access.Reveal()); ok || err == nil || holder.UserID != "" {
		t.Errorf("%+v, %v, %v", holder, ok, err)
	}
	if !w.opens(t, tokens.Access, "oa") {
		t.Error("failure cached as a rejection")
	}
}

// TestRevokedWhileRead overlaps revocations with first reads of tokens. No
// token may be valid after its revocation has returned.
func TestRevokedWhileRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		project := models.Project{ID: "id-oa", OAuthAccess: models.OAuthAnyone}
		for range 20 {
			tokens := w.grant(t, "bob", client)
			grants, err := w.Grants(t.Context(), "bob")
			if err != nil {
				t.Fatal(err)
			}
			var looking sync.WaitGroup
			for range 4 {
				looking.Go(func() {
					if _, _, err := w.index.Find(t.Context(), project.ID, "", tokens.Access.Reveal()); err != nil {
						t.Error(err)
					}
				})
			}
			if err := w.RevokeGrant(t.Context(), "bob", grants[0].ID); err != nil {
				t.Fatal(err)
			}
			looking.Wait()
			if w.opens(t, tokens.Access, "oa") {
				t.Fatal("token valid after its revocation")
			}
		}
	})
}

func TestDisabledUsersLoseTokens(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		tokens := w.grant(t, "bob", client)
		if !w.opens(t, tokens.Access, "oa") {
			t.Fatal("token rejected")
		}
		if err := w.db.Model(&models.User{}).Where("id = ?", "bob").Update("disabled_at", w.Now()).Error; err != nil {
			t.Fatal(err)
		}
		w.publishPeople(t)
		if w.opens(t, tokens.Access, "oa") {
			t.Error("token of a disabled user is valid")
		}
		if err := w.db.Delete(&models.User{}, "id = ?", "bob").Error; err != nil {
			t.Fatal(err)
		}
		var left int64
		if err := w.db.Model(&models.OAuthToken{}).Count(&left).Error; err != nil || left != 0 {
			t.Errorf("%d tokens of a deleted user remain, %v", left, err)
		}
	})
}

func TestSecretsAreStoredAsHashes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		code := w.code(t, "bob", client)
		tokens, err := w.exchange(t.Context(), client, code)
		if err != nil {
			t.Fatal(err)
		}
		made, err := w.Register(t.Context(), []byte(`{"redirect_uris":["https://client.example/cb"],"token_endpoint_auth_method":"client_secret_post"}`), "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		names, err := w.db.Migrator().GetTables()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			var rows []map[string]any
			if err := w.db.Table(name).Find(&rows).Error; err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				for column, value := range row {
					text, _ := value.(string)
					if b, ok := value.([]byte); ok {
						text = string(b)
					}
					for _, secret := range []string{code, tokens.Access.Reveal(), tokens.Refresh.Reveal(), made.Secret.Reveal()} {
						if strings.Contains(text, secret[5:]) {
							t.Errorf("%s.%s contains the secret %s…", name, column, secret[:5])
						}
					}
				}
			}
		}
	})
}

func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		for range 3 {
			w.later(t, client, w.grant(t, "bob", client))
		}
		left := func(model any) (n int64) {
			if err := w.db.Model(model).Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n
		}
		sweep := func(codes, tokens, grants int64) {
			t.Helper()
			if err := w.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c, k, g := left(&models.OAuthCode{}), left(&models.OAuthToken{}), left(&models.OAuthGrant{}); c != codes || k != tokens || g != grants {
				t.Errorf("%d codes, %d tokens and %d grants remain, want %d, %d, %d", c, k, g, codes, tokens, grants)
			}
		}
		sweep(3, 12, 3)
		w.Advance(oauthserver.AccessLife)
		sweep(3, 6, 3)
		w.Advance(24 * time.Hour)
		sweep(0, 6, 3)
		w.Advance(oauthserver.RefreshIdle)
		sweep(0, 0, 3)
		w.Advance(oauthserver.RefreshIdle)
		sweep(0, 0, 0)
		if n := left(&models.OAuthLimit{}); n != 0 {
			t.Errorf("%d counts remain", n)
		}
	})
}

func TestCachedTokenAllocations(t *testing.T) {
	w := onSQLite(t)
	token := w.grant(t, "bob", w.register(t)).Access.Reveal()
	project := models.Project{ID: "id-oa", OAuthAccess: models.OAuthAnyone}
	find := func() {
		if _, ok, err := w.index.Find(t.Context(), project.ID, "", token); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	find()
	if n := testing.AllocsPerRun(100, find); n > 2 {
		t.Errorf("%.0f allocations", n)
	}
}
