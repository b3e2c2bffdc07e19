package alerts_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/alerts"
	"mcpgateway/services/fault"
	"mcpgateway/services/mail"
	"mcpgateway/services/notify"
	"mcpgateway/services/outbox"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a database with virtual time and what the checks read.
type world struct {
	db     *gorm.DB
	now    time.Time
	store  *alerts.Store
	states map[string][]models.ServerState
	waits  []alerts.Connection
	totals map[string]traffic.Totals
	free   uint64
	failed error // of the traffic

	mu     sync.Mutex
	events []string
	mails  []mail.Message
	mailOn bool
	broken error // of the mail server

	one, two *alerts.Evaluator
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := &world{db: modelstest.Open(t, dsn), now: noon, states: map[string][]models.ServerState{}, totals: map[string]traffic.Totals{}, free: 1 << 40, mailOn: true}
		feed, err := notify.NewFeed(w.db, dsn, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		now := func() time.Time { return w.now }
		w.store = alerts.NewStore(w.db, activity.NewAudit(w.db, now), feed, now)
		if err := w.db.Create(&models.Project{ID: "p", Slug: "work", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error; err != nil {
			t.Fatal(err)
		}
		w.one, w.two = w.replica(), w.replica()
		f(t, w)
	})
}

// replica returns the evaluator of a process.
func (w *world) replica() *alerts.Evaluator {
	sources := &alerts.Sources{
		DB: w.db, Servers: func() []alerts.Server { return []alerts.Server{{ID: "s", Alias: "github", Project: "work"}} },
		Connections: func() []alerts.Connection { return w.waits }, Projects: func() map[string]string { return map[string]string{"p": "work"} },
		History: w, Calls: w, FreeSpace: func() (uint64, bool) { return w.free, true },
	}
	recipients := func(context.Context) ([]string, error) { return []string{"ada@example.com"}, nil }
	return alerts.NewEvaluator(alerts.EvaluatorOptions{
		Store: w.store, Checks: sources.Checks(), Events: w, Log: slog.New(slog.DiscardHandler),
		Mail: alerts.NewAnnouncer(w.store, w, recipients, "https://gateway.example.com/admin/alerts"),
	})
}

// Servers implements alerts.History.
func (w *world) Servers(context.Context, []string, time.Time) (map[string][]models.ServerState, error) {
	return w.states, nil
}

// ProjectTotals implements alerts.Calls.
func (w *world) ProjectTotals(_ context.Context, p traffic.Period) (map[string]traffic.Totals, error) {
	if p.To.Sub(p.From) != alerts.Window || !p.To.Equal(w.now.Truncate(time.Second)) {
		return nil, fmt.Errorf("period %v", p)
	}
	return w.totals, w.failed
}

// Add implements alerts.Events.
func (w *world) Add(_ *gorm.DB, events ...outbox.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		w.events = append(w.events, e.Kind)
	}
	return nil
}

// On implements alerts.Mailer.
func (w *world) On() bool { return w.mailOn }

// Send implements alerts.Mailer.
func (w *world) Send(_ context.Context, messages ...mail.Message) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return 0, w.broken
	}
	w.mails = append(w.mails, messages...)
	return len(messages), nil
}

// after evaluates the rules after a time, in one replica.
func (w *world) after(t *testing.T, d time.Duration) {
	t.Helper()
	w.now = w.now.Add(d)
	if err := w.one.Evaluate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// want compares the events and the subjects of the mail so far.
func (w *world) want(t *testing.T, at string, events string, mails int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := strings.ReplaceAll(strings.Join(w.events, " "), "alert.", "")
	if got != events || len(w.mails) != mails {
		t.Errorf("%s: events %q and %d messages, want %q and %d: %v", at, got, len(w.mails), events, mails, w.mails)
	}
}

func (w *world) server(state models.ServerStateKind, at time.Time) {
	w.states["s"] = append(w.states["s"], models.ServerState{ServerID: "s", At: at, State: state, Cause: "refused"})
}

func TestServerDownFiresAndResolvesOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(models.ServerUp, noon)
		w.after(t, 0)
		w.server(models.ServerDown, noon)
		w.after(t, 0)
		w.after(t, 2*time.Minute-time.Millisecond)
		w.want(t, "before 2 minutes", "", 0)
		w.after(t, time.Millisecond)
		w.want(t, "at 2 minutes", "fired", 1)
		w.one = w.replica() // a restart
		w.after(t, time.Millisecond)
		w.after(t, time.Hour)
		w.want(t, "while it lasts", "fired", 1)
		firing, err := w.store.Firing(t.Context())
		if err != nil || len(firing) != 1 || firing[0].Object != "github" || firing[0].Project != "work" || !firing[0].Since.Equal(noon) || firing[0].Detail != "The server doesn't respond: refused." {
			t.Errorf("firing %+v, %v", firing, err)
		}

		w.server(models.ServerUp, w.now)
		w.after(t, 0)
		w.after(t, alerts.ClearAfter-time.Millisecond)
		w.want(t, "just up", "fired", 1)
		w.server(models.ServerDown, w.now) // flaps
		w.after(t, time.Millisecond)
		w.server(models.ServerUp, w.now)
		w.after(t, 0)
		w.states["s"] = nil // unknown: neither up nor down
		w.after(t, alerts.ClearAfter)
		w.want(t, "unknown", "fired", 1)
		w.server(models.ServerUp, w.now)
		w.after(t, 0)
		w.one = w.replica()
		w.after(t, alerts.ClearAfter)
		w.want(t, "up for 2 minutes", "fired resolved", 2)
		w.after(t, time.Hour)
		w.want(t, "later", "fired resolved", 2)
		if recent, err := w.store.Recent(t.Context()); err != nil || len(recent) != 1 || recent[0].State != models.AlertResolved {
			t.Errorf("recent %+v, %v", recent, err)
		}
		if subject := w.mails[0].Subject; subject != "[Gateway] Firing: Server down github" || !strings.Contains(w.mails[1].Text, "resolved 2026-03-01") {
			t.Errorf("mail %q: %s", subject, w.mails[1].Text)
		}
	})
}

func TestShortProblemIsForgotten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(models.ServerDown, noon)
		w.after(t, time.Minute)
		w.server(models.ServerUp, w.now)
		w.after(t, time.Minute)
		w.server(models.ServerDown, w.now)
		w.after(t, 2*time.Minute-time.Millisecond)
		w.want(t, "two short problems", "", 0)
	})
}

// TestThresholds checks each rule below, at and above its threshold, and that it
// resolves.
func TestThresholds(t *testing.T) {
	const mebibyte = 1 << 20
	day := 24 * time.Hour
	key := func(t *testing.T, w *world, left time.Duration) {
		end := w.now.Add(left)
		row := models.Key{ID: "k", ProjectID: "p", Name: "laptop", Hash: []byte("k"), CreatedAt: end.Add(-30 * day), LifetimeMS: (30 * day).Milliseconds(), ExpiresAt: &end, Scope: models.KeyProject}
		if err := w.db.Save(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
	event := func(t *testing.T, w *world, age time.Duration) {
		if err := w.db.Save(&models.Destination{ID: "d", Name: "ops", Kind: models.DestinationWebhook, Active: true, Position: 4, CreatedAt: noon, UpdatedAt: noon}).Error; err != nil {
			t.Fatal(err)
		}
		if err := w.db.Save(&models.OutboxEvent{Seq: 5, ID: "e", Kind: "key.created", At: w.now.Add(-age), Body: "{}"}).Error; err != nil {
			t.Fatal(err)
		}
	}
	calls := func(n, failed int, p95 time.Duration) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { w.totals["p"] = traffic.Totals{Calls: n, Failed: failed, P95: p95} }
	}
	for _, tt := range []struct {
		rule  string
		set   []func(*testing.T, *world) // below, at and above the threshold
		fires []bool
		keeps func(*testing.T, *world) // better, but not enough; nil if there is no such state
		clear func(*testing.T, *world)
	}{
		{alerts.FailingCalls, []func(*testing.T, *world){calls(1000, 99, 0), calls(1000, 100, 0), calls(1000, 101, 0)}, []bool{false, false, true}, calls(1000, 81, 0), calls(1000, 80, 0)},
		{alerts.FailingCalls + " calls", []func(*testing.T, *world){calls(19, 19, 0), calls(20, 20, 0), calls(21, 21, 0)}, []bool{false, true, true}, nil, calls(19, 19, 0)},
		{alerts.SlowCalls, []func(*testing.T, *world){calls(20, 0, 10*time.Second-1), calls(20, 0, 10*time.Second), calls(20, 0, 10*time.Second+1)}, []bool{false, false, true}, calls(20, 0, 8*time.Second+1), calls(20, 0, 8*time.Second)},
		{
			alerts.KeyExpiring, []func(*testing.T, *world){
				func(t *testing.T, w *world) { key(t, w, 7*day+time.Millisecond) }, func(t *testing.T, w *world) { key(t, w, 7*day) }, func(t *testing.T, w *world) { key(t, w, 7*day-time.Millisecond) },
			}, []bool{false, true, true}, nil, func(t *testing.T, w *world) {
				w.db.Model(&models.Key{}).Where("id = ?", "k").Update("revoked_at", w.now)
			},
		},
		{
			alerts.DiskLow, []func(*testing.T, *world){
				func(_ *testing.T, w *world) { w.free = 500*mebibyte + 1 }, func(_ *testing.T, w *world) { w.free = 500 * mebibyte }, func(_ *testing.T, w *world) { w.free = 500*mebibyte - 1 },
			}, []bool{false, false, true}, func(_ *testing.T, w *world) { w.free = 550*mebibyte - 1 }, func(_ *testing.T, w *world) { w.free = 550 * mebibyte },
		},
		{
			alerts.OutboxStuck, []func(*testing.T, *world){
				func(t *testing.T, w *world) { event(t, w, 15*time.Minute-time.Millisecond) }, func(t *testing.T, w *world) { event(t, w, 15*time.Minute) }, func(t *testing.T, w *world) { event(t, w, 15*time.Minute+time.Millisecond) },
			}, []bool{false, true, true}, nil, func(t *testing.T, w *world) {
				w.db.Model(&models.Destination{}).Where("id = ?", "d").Update("position", 5)
			},
		},
		{
			alerts.ConnectionNeeded, []func(*testing.T, *world){
				func(_ *testing.T, w *world) { w.waits = nil }, func(_ *testing.T, w *world) {
					w.waits = []alerts.Connection{{Server: alerts.Server{ID: "s", Alias: "github", Project: "work"}, WasConnected: true}}
				},
			}, []bool{false, true}, nil, func(_ *testing.T, w *world) { w.waits = nil },
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.server(models.ServerUp, noon)
				for i, set := range tt.set {
					set(t, w)
					w.after(t, 0)
					if firing, err := w.store.Firing(t.Context()); err != nil || (len(firing) == 1) != tt.fires[i] || len(firing) == 1 && firing[0].Rule != strings.Fields(tt.rule)[0] {
						t.Fatalf("state %d: firing %+v, %v", i, firing, err)
					}
				}
				w.want(t, "fired", "fired", 1)
				if tt.keeps != nil {
					tt.keeps(t, w)
					w.after(t, 0)
					w.after(t, alerts.ClearAfter)
					w.want(t, "near the threshold", "fired", 1)
				}
				tt.clear(t, w)
				w.after(t, 0)
				w.after(t, alerts.ClearAfter-time.Millisecond)
				w.want(t, "clear for less than 2 minutes", "fired", 1)
				w.after(t, time.Millisecond)
				w.after(t, time.Hour)
				w.want(t, "clear", "fired resolved", 2)
			})
		})
	}
}

func TestReplacedAndShortKeysAreIgnored(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		week, soon := 7*24*time.Hour, noon.Add(time.Hour)
		for i, key := range []models.Key{
			{CreatedAt: noon.Add(time.Hour - week), LifetimeMS: week.Milliseconds()}, // short-lived
			{CreatedAt: noon, LifetimeMS: 10 * week.Milliseconds()},                  // ends early: replaced
			{CreatedAt: noon}, // without an end, replaced
		} {
			key.ID, key.ProjectID, key.Hash, key.ExpiresAt, key.Scope = strconv.Itoa(i), "p", []byte{byte(i)}, &soon, models.KeyProject
			if err := w.db.Create(&key).Error; err != nil {
				t.Fatal(err)
			}
		}
		w.after(t, 0)
		w.want(t, "keys", "", 0)
	})
}

func TestTwoReplicasFireOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(models.ServerDown, noon.Add(-time.Hour))
		w.broken = fmt.Errorf("the mail server is down") // one leader sends mail
		var wg sync.WaitGroup
		for _, e := range []*alerts.Evaluator{w.one, w.two} {
			wg.Go(func() {
				if err := e.Evaluate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		w.want(t, "two replicas", "fired", 0)
		w.broken, w.one = nil, w.replica() // the leader changes
		w.after(t, 0)
		w.one = w.two
		w.after(t, time.Hour)
		w.want(t, "the next leaders", "fired", 1)
	})
}

func TestMailIsTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.free, w.broken = 0, fmt.Errorf("the mail server is down")
		w.server(models.ServerUp, noon)
		w.after(t, 0)
		w.broken = nil
		w.after(t, time.Minute-time.Millisecond)
		w.want(t, "before the retry", "fired", 0)
		w.after(t, time.Millisecond)
		w.want(t, "at the retry", "fired", 1)
	})
}

func TestMailSetUpLaterSendsNoOldAlerts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailOn, w.free = false, 0
		w.server(models.ServerUp, noon)
		w.after(t, 0)
		w.mailOn = true
		w.after(t, time.Hour)
		w.want(t, "old alert", "fired", 0)
		w.free = 1 << 40
		w.after(t, 0)
		w.after(t, alerts.ClearAfter)
		w.want(t, "its end", "fired resolved", 1)
	})
}

func TestFailedCheckStopsNoOther(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(models.ServerUp, noon)
		w.totals["p"] = traffic.Totals{Calls: 100, Failed: 50}
		w.after(t, 0)
		w.failed, w.free = fmt.Errorf("no traffic"), 0
		w.now = w.now.Add(time.Hour)
		if err := w.one.Evaluate(t.Context()); err == nil {
			t.Error("the failure is not reported")
		}
		w.want(t, "after the failure", "fired fired", 2)
	})
}

func TestRulesChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		on, off := true, false
		for _, n := range []int{0, 1, 2, 1439, 1440, 1441} {
			_, err := w.store.ChangeRule(t.Context(), alerts.ServerDown, alerts.RuleChange{Thresholds: map[string]int{"minutes": n}})
			if fits := n >= 1 && n <= 1440; fits != (err == nil) || !fits && !fault.Is(err, fault.CodeValidationFailed) {
				t.Errorf("%d minutes: %v", n, err)
			}
		}
		if _, err := w.store.ChangeRule(t.Context(), alerts.ServerDown, alerts.RuleChange{Thresholds: map[string]int{"hours": 1}}); !fault.Is(err, fault.CodeValidationFailed) {
			t.Errorf("unknown threshold: %v", err)
		}
		if _, err := w.store.ChangeRule(t.Context(), "none", alerts.RuleChange{Enabled: &on}); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("unknown rule: %v", err)
		}
		w.server(models.ServerDown, noon.Add(-24*time.Hour))
		w.after(t, 0)
		w.want(t, "24 hours at 1,440 minutes", "fired", 1)
		for range 2 { // the second changes nothing and is not recorded
			if rule, err := w.store.ChangeRule(t.Context(), alerts.ServerDown, alerts.RuleChange{Enabled: &off}); err != nil || rule.Enabled || rule.Of("minutes") != 1440 {
				t.Errorf("turned off: %+v, %v", rule, err)
			}
		}
		w.after(t, 0)
		w.want(t, "turned off", "fired resolved", 2)
		w.after(t, time.Hour)
		w.want(t, "off", "fired resolved", 2)
		var recorded []models.AuditEntry
		if err := w.db.Order("seq").Find(&recorded).Error; err != nil {
			t.Fatal(err)
		}
		last := recorded[len(recorded)-1]
		if last.Action != "alert.rule_changed" || last.Detail["from"] != "on, minutes 1440" || last.Detail["to"] != "off, minutes 1440" || len(recorded) != 5 {
			t.Errorf("%d entries, the last %+v", len(recorded), last)
		}
	})
}

func TestCurrentFollowsTheTopic(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		current := alerts.NewCurrent(w.store)
		w.server(models.ServerUp, noon)
		w.free = 0
		w.after(t, 0)
		if err := current.Changed(t.Context(), notify.People()); err != nil || len(current.Firing()) != 0 {
			t.Errorf("another topic: %v, %v", current.Firing(), err)
		}
		if err := current.Changed(t.Context(), notify.Alerts()); err != nil || len(current.Firing()) != 1 || current.Counts()[alerts.DiskLow] != 1 {
			t.Errorf("firing %v, %v", current.Firing(), err)
		}
	})
}

func TestSweepDeletesOldAlerts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(models.ServerUp, noon)
		w.free = 0
		w.after(t, 0)
		w.free = 1 << 40
		w.after(t, 0)
		w.after(t, alerts.ClearAfter)
		end := w.now
		for _, tt := range []struct {
			age  time.Duration
			want int
		}{{alerts.Retention - time.Millisecond, 1}, {alerts.Retention, 0}} {
			w.now = end.Add(tt.age)
			if err := w.store.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if recent, err := w.store.Recent(t.Context()); err != nil || len(recent) != tt.want {
				t.Errorf("after %s: %d alerts, %v", tt.age, len(recent), err)
			}
		}
	})
}

func TestNamesStayOnOneLine(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(models.ServerUp, noon)
		w.waits = []alerts.Connection{{Server: alerts.Server{ID: "s", Alias: "a\r\nBcc: eve@evil.org\u2028" + strings.Repeat("x", 300), Project: "work"}}}
		w.after(t, 0)
		if m := w.mails[0]; strings.ContainsAny(m.Subject, "\r\n\u2028") || len(m.Subject) > 200 || slices.Contains(strings.Split(m.Text, "\n"), "Bcc: eve@evil.org") {
			t.Errorf("mail %+v", m)
		}
	})
}
