package accounts_test

import (
	"fmt"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/oauthclient/accounts"
)

func connected(server, user string, at time.Time) *accounts.Connection {
	return &accounts.Connection{PersonalConnection: models.PersonalConnection{
		Connection: models.Connection{ServerID: server, ConnectedAt: &at}, UserID: user,
	}}
}

// TestRowsOfAccountsDiffer checks that no two accounts or columns share the name
// of a sealed row, a lock or a topic.
func TestRowsOfAccountsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []accounts.ID{{ServerID: "s"}, {ServerID: "s", UserID: "ann"}, {ServerID: "s", UserID: "ben"}, {ServerID: "t", UserID: "ann"}} {
		for kind, names := range map[string][]string{
			"row":   {id.AccessTokenRow(), id.RefreshTokenRow(), id.HeaderRow("X-Key"), id.HeaderRow("X-Org")},
			"lock":  {id.Lock()},
			"topic": {string(id.Topic())},
		} {
			for _, name := range names {
				if other, taken := seen[kind+name]; taken {
					t.Errorf("%s and %s share the %s %s", id, other, kind, name)
				}
				seen[kind+name] = id.String()
			}
		}
	}
	if row := (accounts.ID{ServerID: "s", UserID: ""}).AccessTokenRow(); row != "connections/s/access_token" {
		t.Errorf("row %s: stored tokens can't be opened", row)
	}
}

// TestCacheKeepsAccountsInUse fills the cache beyond its limit while one account
// is used.
func TestCacheKeepsAccountsInUse(t *testing.T) {
	c, at := accounts.NewCache(), time.Now()
	used := accounts.ID{ServerID: "s", UserID: "used"}
	put := func(o *accounts.Connection) { _, asOf := c.Get(o.ID()); c.Put(o, asOf) }
	put(connected("s", "used", at))
	const n = 2 * accounts.MaxCached
	for i := range n {
		put(connected("s", fmt.Sprint(i), at))
		if o, _ := c.Get(used); o == nil {
			t.Fatalf("the account in use was dropped after %d others", i)
		}
	}
	kept := 0
	for i := range n {
		if o, _ := c.Get(accounts.ID{ServerID: "s", UserID: fmt.Sprint(i)}); o != nil {
			kept++
		}
	}
	if kept >= accounts.MaxCached || kept < accounts.MaxCached*9/10 {
		t.Errorf("%d accounts are cached, at most %d", kept, accounts.MaxCached)
	}
}

// TestCacheDetectsAnotherAccount reports a reconnected account, also after its
// entry was invalidated, and not a refreshed one.
func TestCacheDetectsAnotherAccount(t *testing.T) {
	c, at := accounts.NewCache(), time.Now()
	id := accounts.ID{ServerID: "s", UserID: "ann"}
	_, first := c.Get(id)
	if c.Put(connected("s", "ann", at), first) {
		t.Error("the first one is another")
	}
	if c.Forget(accounts.ID{ServerID: "s", UserID: "ben"}) || !c.Forget(id) || !c.Forget(id) {
		t.Error("Forget() reports the wrong entries")
	}
	if o, _ := c.Get(id); o != nil {
		t.Error("an invalidated entry was returned")
	}
	if c.Put(connected("s", "ann", at), first) {
		t.Error("a refreshed one is another")
	}
	if o, _ := c.Get(id); o != nil {
		t.Error("a connection that was read before the invalidation was stored")
	}
	if !c.Put(connected("s", "ann", at.Add(time.Second)), first) {
		t.Error("a reconnected one isn't another")
	}
	_, asOf := c.Get(id)
	if !c.Put(connected("s", "ann", at.Add(time.Second)), asOf) {
		t.Error("a reconnected one isn't another")
	}
	if o, _ := c.Get(id); o == nil || c.Put(connected("s", "ann", at.Add(time.Second)), asOf) {
		t.Error("the entry wasn't stored")
	}
}

func BenchmarkCacheGet(b *testing.B) {
	c := accounts.NewCache()
	o := connected("s", "ann", time.Now())
	_, asOf := c.Get(o.ID())
	c.Put(o, asOf)
	b.ReportAllocs()
	for b.Loop() {
		if found, _ := c.Get(o.ID()); found == nil {
			b.Fatal("not found")
		}
	}
}
