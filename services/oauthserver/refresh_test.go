package oauthserver_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

func TestRotate(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn)
		replica := join(t, dsn, w.clock)
		client := w.register(t)
		first := w.grant(t, "bob", client)
		const parallel = 30
		tokens, errs := make([]oauthserver.Tokens, parallel), make([]error, parallel)
		var renewing sync.WaitGroup
		for i := range parallel {
			renewing.Go(func() {
				process := []*world{w, replica}[i%2]
				tokens[i], errs[i] = process.refresh(context.WithoutCancel(t.Context()), client, first.Refresh.Reveal())
			})
		}
		renewing.Wait()
		texts := map[string]bool{}
		for i, err := range errs {
			if err != nil {
				t.Fatalf("refresh %d: %v", i, err)
			}
			texts[tokens[i].Access.Reveal()], texts[tokens[i].Refresh.Reveal()] = true, true
			if !w.opens(t, tokens[i].Access, "oa") || !replica.opens(t, tokens[i].Access, "oa") {
				t.Errorf("access token of refresh %d rejected", i)
			}
		}
		var families int64
		if err := w.db.Model(&models.OAuthToken{}).Distinct("grant_id").Count(&families).Error; err != nil || families != 1 || len(texts) != 2*parallel {
			t.Fatalf("%d grants and %d tokens, %v", families, len(texts), err)
		}
		// The sibling pair remains valid.
		sibling, err := w.refresh(t.Context(), client, tokens[7].Refresh.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		w.Advance(oauthserver.RotationGrace - time.Millisecond)
		if _, err := w.refresh(t.Context(), client, first.Refresh.Reveal()); err != nil {
			t.Fatalf("at the end of the grace period: %v", err)
		}
		w.Advance(time.Millisecond)
		_, err = w.refresh(t.Context(), client, first.Refresh.Reveal())
		refused(t, err, oauthserver.InvalidGrant)
		for _, t2 := range append(tokens, first, sibling) {
			if w.opens(t, t2.Access, "oa") {
				t.Fatal("access token valid after its grant")
			}
			_, err := w.refresh(t.Context(), client, t2.Refresh.Reveal())
			refused(t, err, oauthserver.InvalidGrant)
		}
		if d := cmp.Diff([]string{"client.registered", "oauth.consented", "oauth.refresh_replayed"}, w.actions(t)); d != "" {
			t.Errorf("audit (-want +got):\n%s", d)
		}
	})
}

func TestRefreshRequiresSameClient(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client, stranger := w.register(t), w.register(t, "http://127.0.0.1/other")
		tokens := w.grant(t, "bob", client)
		_, err := w.refresh(t.Context(), stranger, tokens.Refresh.Reveal())
		refused(t, err, oauthserver.InvalidGrant)
		for _, text := range []string{"", tokens.Access.Reveal(), "gwrt_x", tokens.Refresh.Reveal() + "0"} {
			_, err = w.refresh(t.Context(), client, text)
			refused(t, err, oauthserver.InvalidGrant)
		}
		_, err = w.refresh(t.Context(), client, tokens.Refresh.Reveal(), "resource", issuer+"/v1/mcp/ob/request")
		refused(t, err, oauthserver.InvalidTarget)
		if _, err = w.refresh(t.Context(), client, tokens.Refresh.Reveal(), "resource", issuer+"/v1/mcp/oa/request/"); err != nil {
			t.Errorf("token after rejected uses: %v", err)
		}
	})
}

func TestRefreshesAreLimited(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	tokens, other := w.grant(t, "bob", client), w.grant(t, "bob", client)
	for i := range oauthserver.RefreshesPerHour {
		var err error
		if tokens, err = w.refresh(t.Context(), client, tokens.Refresh.Reveal()); err != nil {
			t.Fatalf("refresh %d: %v", i+1, err)
		}
	}
	_, err := w.refresh(t.Context(), client, tokens.Refresh.Reveal())
	failed(t, err, fault.CodeRateLimited)
	if f := fault.From(err); f.RetryAfter != time.Hour {
		t.Errorf("RetryAfter = %s", f.RetryAfter)
	}
	if _, err := w.refresh(t.Context(), client, other.Refresh.Reveal()); err != nil {
		t.Errorf("other grant: %v", err)
	}
	w.Advance(time.Hour)
	if _, err := w.refresh(t.Context(), client, tokens.Refresh.Reveal()); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

func TestLifetimes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		tokens := w.grant(t, "bob", client)
		if tokens.Expires > time.Hour {
			t.Errorf("access token lifetime = %s", tokens.Expires)
		}
		w.Advance(oauthserver.AccessLife - time.Millisecond)
		if !w.opens(t, tokens.Access, "oa") {
			t.Error("access token expired early")
		}
		w.Advance(time.Millisecond)
		if w.opens(t, tokens.Access, "oa") {
			t.Error("access token valid after its expiry")
		}
		idle := w.grant(t, "bob", client)
		w.Advance(oauthserver.RefreshIdle - time.Millisecond)
		if _, err := w.refresh(t.Context(), client, w.later(t, client, idle).Refresh.Reveal()); err != nil {
			t.Errorf("before 30 idle days: %v", err)
		}
		idle = w.grant(t, "bob", client)
		w.Advance(oauthserver.RefreshIdle)
		_, err := w.refresh(t.Context(), client, idle.Refresh.Reveal())
		refused(t, err, oauthserver.InvalidGrant)

		used := w.grant(t, "bob", client)
		end := w.Now().Add(oauthserver.GrantLife)
		for w.Now().Add(20 * 24 * time.Hour).Before(end) {
			w.Advance(20 * 24 * time.Hour)
			if used, err = w.refresh(t.Context(), client, used.Refresh.Reveal()); err != nil {
				t.Fatalf("%s before the end: %v", end.Sub(w.Now()), err)
			}
		}
		w.Advance(end.Sub(w.Now()) - 10*time.Minute)
		if used, err = w.refresh(t.Context(), client, used.Refresh.Reveal()); err != nil || used.Expires != 10*time.Minute {
			t.Errorf("access token lifetime 10 minutes before the grant's end = %s, %v", used.Expires, err)
		}
		w.Advance(10 * time.Minute)
		_, err = w.refresh(t.Context(), client, used.Refresh.Reveal())
		refused(t, err, oauthserver.InvalidGrant)
		if w.opens(t, used.Access, "oa") {
			t.Error("access token valid after its grant")
		}
	})
}

// later refreshes tokens and returns the new ones.
func (w *world) later(t *testing.T, client string, tokens oauthserver.Tokens) oauthserver.Tokens {
	t.Helper()
	renewed, err := w.refresh(t.Context(), client, tokens.Refresh.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return renewed
}
