package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/outbox"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at() time.Time { return noon }

// addDestination stores a destination that delivers nothing.
func addDestination(t *testing.T, db *gorm.DB, active bool) {
	t.Helper()
	if err := db.Create(&models.Destination{ID: "d", Name: "d", Kind: models.DestinationWebhook, Active: active}).Error; err != nil {
		t.Fatal(err)
	}
}

// kinds returns the kinds of the stored events, oldest first.
func kinds(t *testing.T, db *gorm.DB) string {
	t.Helper()
	var found []string
	if err := db.Model(&models.OutboxEvent{}).Order("seq").Pluck("kind", &found).Error; err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func TestEventsNeedDestination(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		events := outbox.New(db, at)
		if err := events.AddNow(t.Context(), outbox.Event{Kind: "first", Data: map[string]int{}}); err != nil {
			t.Fatal(err)
		}
		addDestination(t, db, false)
		if err := events.AddNow(t.Context(), outbox.Event{Kind: "second"}); err != nil {
			t.Fatal(err)
		}
		db.Model(&models.Destination{}).Where("id = ?", "d").Update("active", true)
		if err := events.AddNow(t.Context(), outbox.Event{Kind: "third", Project: "p", Data: map[string]int{"n": 3}}, outbox.Event{Kind: "fourth"}); err != nil {
			t.Fatal(err)
		}
		if got := kinds(t, db); got != "third fourth" {
			t.Errorf("events = %q, want third fourth", got)
		}
		var row models.OutboxEvent
		db.Order("seq").First(&row)
		if row.Project != "p" || row.Body != `{"n":3}` || !row.At.Equal(noon) || row.Audit || row.ID == "" {
			t.Errorf("row = %+v", row)
		}
	})
}

func TestEventIsPartOfTransaction(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		addDestination(t, db, true)
		events := outbox.New(db, at)
		undo := errors.New("undo")
		err := db.Transaction(func(tx *gorm.DB) error {
			if err := events.Add(tx, outbox.Event{Kind: "undone"}); err != nil {
				return err
			}
			return undo
		})
		if !errors.Is(err, undo) || kinds(t, db) != "" {
			t.Errorf("error %v, events %q", err, kinds(t, db))
		}
	})
}

func TestAuditEntriesBecomeEvents(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		addDestination(t, db, true)
		audit := activity.NewAudit(db, at)
		audit.UseEvents(outbox.New(db, at))
		ctx := activity.WithActor(t.Context(), activity.Actor{Kind: activity.ActorUser, ID: "u", Name: "Ann", IP: "127.0.0.1", RequestID: "r"})
		err := db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			return audit.RecordAll(tx, []activity.Entry{
				{Action: "key.created", Object: "k", ObjectID: "1", Project: "p", Detail: map[string]string{"a": "b"}},
				{Action: "catalog.requested", Object: "acme/anvils"},
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		var rows []models.OutboxEvent
		if err := db.Order("seq").Find(&rows).Error; err != nil || len(rows) != 2 {
			t.Fatalf("%d events, %v", len(rows), err)
		}
		if rows[0].Kind != "key.created" || rows[1].Kind != "catalog.requested" || !rows[0].Audit || rows[0].Project != "p" {
			t.Errorf("rows = %+v", rows)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(rows[0].Body), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"seq": 1.0, "at": "2026-03-01T12:00:00Z", "actor": map[string]any{"kind": "user", "id": "u", "name": "Ann", "ip": "127.0.0.1"}, "requestId": "r",
			"action": "key.created", "object": "k", "objectId": "1", "projectSlug": "p", "detail": map[string]any{"a": "b"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
	})
}

func TestChangeIsReportedOnce(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		addDestination(t, db, true)
		replicas := []*outbox.Events{outbox.New(db, at), outbox.New(db, at)}
		for _, state := range []string{"up", "down", "down", "up", "down"} {
			for _, events := range replicas {
				if _, err := events.ChangeNow(t.Context(), "server:1", "up", state, outbox.Event{Kind: "server." + state}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := kinds(t, db); got != "server.down server.up server.down" {
			t.Errorf("events = %q", got)
		}
	})
}

func TestEventSizeIsLimited(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		addDestination(t, db, true)
		events := outbox.New(db, at)
		for _, tt := range []struct {
			size int
			ok   bool
		}{{outbox.MaxBody - 1, true}, {outbox.MaxBody, true}, {outbox.MaxBody + 1, false}} {
			err := events.AddNow(t.Context(), outbox.Event{Kind: "x", Data: strings.Repeat("a", tt.size-2)})
			if (err == nil) != tt.ok {
				t.Errorf("%d bytes: %v", tt.size, err)
			}
		}
	})
}

// TestReaderMissesNoEvent follows the numbers of events while writers commit
// them, as deliveries do.
func TestReaderMissesNoEvent(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		addDestination(t, db, true)
		events := outbox.New(db, at)
		const writers, each = 8, 10
		ctx, done := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		for range writers {
			writing.Go(func() {
				for range each {
					if err := events.AddNow(t.Context(), outbox.Event{Kind: "x"}, outbox.Event{Kind: "x"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		go func() { writing.Wait(); done() }()
		seen, last := 0, int64(0)
		for ended := false; !ended; {
			ended = ctx.Err() != nil // read once more
			var rows []models.OutboxEvent
			if err := db.Order("seq").Find(&rows, "seq > ?", last).Error; err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				seen, last = seen+1, row.Seq
			}
		}
		if want := writers * each * 2; seen != want {
			t.Errorf("saw %d events, want %d", seen, want)
		}
	})
}

func TestBrokenChainIsReportedOnce(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		addDestination(t, db, true)
		audit := activity.NewAudit(db, at)
		audit.UseEvents(outbox.New(db, at))
		for range 2 {
			if err := db.Transaction(func(tx *gorm.DB) error { return audit.Record(tx, activity.Entry{Action: "a", Object: "1"}) }); err != nil {
				t.Fatal(err)
			}
		}
		db.Exec("DELETE FROM outbox")
		verify := func(object string, broken bool) {
			t.Helper()
			db.Exec("UPDATE audit_entries SET object = ? WHERE seq = 1", object)
			if _, err := audit.Verify(t.Context()); (err != nil) != broken {
				t.Errorf("object %s: %v", object, err)
			}
		}
		verify("1", false)
		verify("2", true)
		verify("3", true)
		if got := kinds(t, db); got != "audit.chain_broken" {
			t.Errorf("events = %q", got)
		}
		verify("1", false)
		verify("2", true)
		if got := kinds(t, db); got != "audit.chain_broken audit.chain_broken" {
			t.Errorf("events = %q", got)
		}
	})
}
