package artifacts_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/artifacts"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// process is a gateway process with the artifacts in a database.
type process struct {
	*artifacts.Store
	db  *gorm.DB
	now time.Time
}

func newProcess(t *testing.T, dsn string) *process {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{db: modelstest.Open(t, dsn), now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	p.Store = artifacts.NewStore(p.db, ring, func() time.Time { return p.now })
	return p
}

func (p *process) project(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := p.db.Create(&models.Project{ID: id, Slug: id, Name: id, AuthMode: models.AuthAPIKey, ToolExposure: models.ExposeFull, CreatedAt: p.now, UpdatedAt: p.now}).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func owner(t *testing.T, user, project string) artifacts.Owner {
	t.Helper()
	o, err := artifacts.OwnerOf(access.Administrator(user, project))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (p *process) put(t *testing.T, o artifacts.Owner, name string, size int) {
	t.Helper()
	if _, err := p.Put(t.Context(), o, name, models.ArtifactText, bytes.Repeat([]byte("x"), size)); err != nil {
		t.Fatalf("Put(%s, %d bytes): %v", name, size, err)
	}
}

func (p *process) has(t *testing.T, o artifacts.Owner, name string) bool {
	t.Helper()
	_, err := p.Get(t.Context(), o, name)
	if err != nil && !fault.Is(err, fault.CodeNotFound) {
		t.Fatalf("Get(%s): %v", name, err)
	}
	return err == nil
}

func TestArtifactBelongsToItsOwner(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		one, two := newProcess(t, dsn), newProcess(t, dsn)
		one.project(t, "p", "q")
		ada := owner(t, "ada", "p")
		data := []byte(`{"n":1.50,"text":"a\u0000\n"}`)
		expires, err := one.Put(t.Context(), ada, "report.v1", models.ArtifactJSON, data)
		if err != nil || !expires.Equal(one.now.Add(24*time.Hour)) {
			t.Fatalf("Put() = %v, %v", expires, err)
		}
		got, err := two.Get(t.Context(), ada, "report.v1")
		if err != nil || !bytes.Equal(got.Data, data) || got.Kind != models.ArtifactJSON || !got.ExpiresAt.Equal(expires) {
			t.Errorf("Get() on another replica = %+v, %v", got, err)
		}
		var row models.Artifact
		if err := one.db.Take(&row).Error; err != nil || strings.Contains(row.Content, "text") || !strings.HasPrefix(row.Content, "v1:test:") {
			t.Errorf("stored %.40q, %v", row.Content, err)
		}
		_, want := one.Get(t.Context(), ada, "absent")
		refusals := map[string]artifacts.Owner{"another user": owner(t, "bob", "p"), "another project": owner(t, "ada", "q")}
		for name, o := range refusals {
			if _, err := one.Get(t.Context(), o, "report.v1"); err == nil || err.Error() != strings.Replace(want.Error(), "absent", "report.v1", 1) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
		// A row moved to another owner or name doesn't open.
		if err := one.db.Model(&row).UpdateColumn("name", "moved").Error; err != nil {
			t.Fatal(err)
		}
		if _, err := one.Get(t.Context(), ada, "moved"); err == nil {
			t.Error("Get() opened a moved row")
		}
	})
}

func TestArtifactExpires(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProcess(t, dsn)
		p.project(t, "p")
		ada := owner(t, "ada", "p")
		p.put(t, ada, "a", 1)
		for _, tt := range []struct {
			after time.Duration
			want  bool
		}{{artifacts.Lifetime - time.Millisecond, true}, {time.Millisecond, false}, {time.Millisecond, false}} {
			p.now = p.now.Add(tt.after)
			if got := p.has(t, ada, "a"); got != tt.want {
				t.Errorf("%v: found %v", p.now, got)
			}
			var rows int64
			if err := p.Sweep(t.Context()); err != nil || p.db.Model(&models.Artifact{}).Count(&rows).Error != nil || (rows == 1) != tt.want {
				t.Errorf("%v: %d rows after the sweep, %v", p.now, rows, err)
			}
		}
	})
}

func TestArtifactLimits(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProcess(t, dsn)
		p.project(t, "p")
		ada, bob := owner(t, "ada", "p"), owner(t, "bob", "p")
		for i := range 9 {
			p.put(t, ada, fmt.Sprint("a", i), artifacts.MaxBytes)
			p.now = p.now.Add(time.Second)
		}
		_, err := p.Put(t.Context(), bob, "big", models.ArtifactText, make([]byte, artifacts.MaxBytes+1))
		if !fault.Is(err, fault.CodePayloadTooLarge) {
			t.Errorf("MaxBytes+1: %v", err)
		}
		p.put(t, bob, "b", artifacts.MaxBytes-1)
		p.put(t, bob, "c", 1) // the project is exactly full
		if !p.has(t, ada, "a0") || !p.has(t, bob, "b") {
			t.Error("a full project lost an artifact")
		}
		p.put(t, ada, "a8", artifacts.MaxBytes) // replaces one
		p.put(t, ada, "a9", 1)
		if p.has(t, ada, "a0") || !p.has(t, ada, "a1") || !p.has(t, bob, "b") {
			t.Error("one byte more did not remove the owner's oldest artifact alone")
		}
		p.put(t, ada, "a10", artifacts.MaxBytes-1)
		_, err = p.Put(t.Context(), owner(t, "eve", "p"), "e", models.ArtifactText, []byte("x"))
		if !fault.Is(err, fault.CodeConflict) || !strings.Contains(err.Error(), "retry after 2026-05-02T12:00:01Z") {
			t.Errorf("no room: %v", err)
		}
		p.now = p.now.Add(artifacts.Lifetime)
		p.put(t, owner(t, "eve", "p"), "e", 1)
	})
}

func TestArtifactsStoredAtTheSameTime(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProcess(t, dsn)
		p.project(t, "p")
		var storing sync.WaitGroup
		for i := range 12 {
			storing.Go(func() {
				o := owner(t, fmt.Sprint("user", i), "p")
				if _, err := p.Put(t.Context(), o, "x", models.ArtifactText, make([]byte, artifacts.MaxBytes)); err != nil && !fault.Is(err, fault.CodeConflict) {
					t.Error(err)
				}
			})
		}
		storing.Wait()
		var total int64
		if err := p.db.Model(&models.Artifact{}).Select("SUM(bytes)").Scan(&total).Error; err != nil || total != artifacts.MaxProjectBytes {
			t.Errorf("stored %d bytes, %v", total, err)
		}
	})
}

func TestArtifactNames(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("a", 127), strings.Repeat("a", 128), "A-Z_0.9", "..."} {
		if err := artifacts.CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("a", 129), "a b", "a/b", "ä", "a\x00", "a:b"} {
		if err := artifacts.CheckName(name); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
}

func TestAnonymousCallersOwnNothing(t *testing.T) {
	if _, err := artifacts.OwnerOf(access.Principal{}); !fault.Is(err, fault.CodeForbidden) || !strings.Contains(err.Error(), "needs a key or a sign-in") {
		t.Errorf("OwnerOf() = %v", err)
	}
}
