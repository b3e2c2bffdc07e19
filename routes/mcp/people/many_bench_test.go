package people_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
)

// BenchmarkManyPeople measures 10,000 connections of 1,000 people to 10 servers:
// the start of a process, the memory of a connection in use with its upstream
// session at both ends, and the refreshes after all tokens expired at once, with and without
// use in the last day.
func BenchmarkManyPeople(b *testing.B) {
	const people, servers = 1000, 10
	for b.Loop() {
		m := newMany(b, people, servers)
		started := time.Now()
		app := routestest.New(b, m.dsn)
		b.ReportMetric(float64(time.Since(started).Milliseconds()), "start-ms")

		heap := heapInUse()
		started = time.Now()
		m.call(b, app, "the first call")
		b.ReportMetric(float64(time.Since(started).Milliseconds())/people/servers, "ms/first-call")
		for _, e := range m.servers {
			e.ForgetRequests()
		}
		b.ReportMetric(float64(heapInUse()-heap)/people/servers, "heap-B/connection")

		before := m.refreshes()
		m.expire(b, app, time.Now().UTC().Add(-48*time.Hour))
		time.Sleep(2 * time.Second) // of a background refresh, of which there must be none
		b.ReportMetric(float64(m.refreshes()-before), "refreshes-unused")
		m.expire(b, app, time.Now().UTC().Add(-48*time.Hour))
		other := routestest.New(b, m.dsn) // without cached tokens
		started = time.Now()
		m.call(b, other, "the call that refreshes")
		b.ReportMetric(time.Since(started).Seconds(), "refresh-s")
		b.ReportMetric(float64(m.refreshes()-before), "refreshes-used")
	}
}

// many is a database with many connections.
type many struct {
	*world
	dsn   string
	users []string
	keys  []string // of the users
}

func newMany(b *testing.B, people, servers int) *many {
	b.Helper()
	m := &many{world: &world{servers: map[string]*upstreamtest.EchoServer{}, ids: map[string]string{}}, dsn: "sqlite:" + b.TempDir() + "/gateway.db"}
	m.App = routestest.New(b, m.dsn)
	var declared []string
	for i := range servers {
		alias := fmt.Sprintf("e%d", i)
		m.servers[alias] = upstreamtest.NewEchoServer(upstreamtest.Era20251125)
		declared = append(declared, fmt.Sprintf(`%q:{"url":%q,"authType":"oauth","connection":"personal"}`, alias, m.servers[alias].Start(b)))
	}
	m.Apply(b, `{"projects":{"p":{"authMode":"oauth","personalKeys":{"enabled":true,"maxDays":30},"mcpServers":{`+strings.Join(declared, ",")+`}}}}`)
	for i := range people {
		m.users = append(m.users, m.Person(b, fmt.Sprintf("p%d", i)))
		m.keys = append(m.keys, m.PersonalKey(b, "p", m.users[i]))
	}
	for alias, e := range m.servers {
		m.ids[alias] = m.ServerID(b, "p", alias)
		m.Connect(b, m.ids[alias], m.users[0], "p0", true)
		m.Sync(b, "p", alias)
		m.copyConnection(b, e, m.ids[alias])
	}
	return m
}

// copyConnection connects all people like the first.
func (m *many) copyConnection(b *testing.B, e *upstreamtest.EchoServer, serverID string) {
	b.Helper()
	var rows []models.PersonalConnection
	if err := m.Services.DB.Find(&rows, "server_id = ?", serverID).Error; err != nil || len(rows) != 1 {
		b.Fatal(len(rows), err)
	}
	first := rows[0]
	rows = rows[:0]
	for i, user := range m.users[1:] {
		row, id := first, accounts.ID{ServerID: serverID, UserID: user}
		access, refresh := e.Issue(fmt.Sprintf("p%d", i+1))
		var err error
		if row.AccessToken, err = m.Services.Config.Keys.Seal(secrets.NewValue(access), id.AccessTokenRow()); err != nil {
			b.Fatal(err)
		}
		if row.RefreshToken, err = m.Services.Config.Keys.Seal(secrets.NewValue(refresh), id.RefreshTokenRow()); err != nil {
			b.Fatal(err)
		}
		row.UserID, row.InventoryOK = user, false
		rows = append(rows, row)
	}
	if err := m.Services.DB.CreateInBatches(rows, 100).Error; err != nil {
		b.Fatal(err)
	}
}

// call calls every server as every user, 50 users at a time.
func (m *many) call(b *testing.B, app *routestest.App, what string) {
	b.Helper()
	base := app.Serve(b)
	slots := make(chan struct{}, 50)
	var all sync.WaitGroup
	for i, key := range m.keys {
		c := (&routestest.Client{Endpoint: base + "/v1/mcp/p/request", Token: key, Version: stateless, Capabilities: `{}`}).Open(b)
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			for alias := range m.servers {
				answer, err := c.Call(b.Context(), alias+"__whoami", `{}`)
				if at, bad := reached(answer); b.Failed() {
					return
				} else if err != nil || bad != nil || at.Person != fmt.Sprintf("p%d", i) {
					b.Errorf("%s: p%d reached as %q, %v, %v", what, i, at.Person, err, bad)
				}
			}
		})
	}
	all.Wait()
}

// expire sets the expiry of all access tokens to now, and the last use of all
// connections.
func (m *many) expire(b *testing.B, app *routestest.App, used time.Time) {
	b.Helper()
	past := time.Now().UTC().Add(-time.Minute)
	err := app.Services.DB.Model(&models.PersonalConnection{}).Where("1 = 1").
		UpdateColumns(map[string]any{"expires_at": past, "refresh_at": past, "used_at": used, "version": 1000}).Error
	if err != nil {
		b.Fatal(err)
	}
}

func (m *many) refreshes() (n int) {
	for _, e := range m.servers {
		n += e.AllRefreshes()
	}
	return n
}

// heapInUse returns the bytes of the heap in use after a collection.
func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}
