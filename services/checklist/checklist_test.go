package checklist_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/checklist"
	"mcpgateway/services/toolset"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// world is a database with project p.
type world struct {
	t  *testing.T
	db *gorm.DB
	p  *toolset.Snapshot
}

func each(t *testing.T, mode models.AuthMode, f func(w *world)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		project := models.Project{RetentionCalls: 7, ID: "p", Slug: "p", AuthMode: mode, OAuthAccess: models.OAuthAnyone, ToolExposure: models.ExposeFull, CreatedAt: now.Add(-time.Hour), UpdatedAt: now}
		w := &world{t, db, &toolset.Snapshot{Project: project}}
		w.create(&project)
		f(w)
	})
}

func (w *world) create(row any) {
	w.t.Helper()
	if err := w.db.Create(row).Error; err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) server() { w.p.Servers = []*toolset.Server{{}} }

func (w *world) key(change func(*models.Key)) {
	w.t.Helper()
	key := models.Key{ID: "k" + fmt.Sprint(time.Now().UnixNano()), ProjectID: "p", Name: "laptop", CreatedAt: now}
	key.Hash = []byte(key.ID)
	change(&key)
	w.create(&key)
}

func (w *world) call(principal string, outcome models.Outcome) {
	w.t.Helper()
	var n int64
	if err := w.db.Model(&models.Call{}).Count(&n).Error; err != nil {
		w.t.Fatal(err)
	}
	w.create(&models.Call{ID: fmt.Sprint(n), At: now, ProjectID: "p", Principal: principal, Tool: "a__b", Outcome: outcome})
}

func (w *world) grant(user string) {
	w.t.Helper()
	w.create(&models.OAuthClient{ID: "c-" + user, Kind: models.ClientRegistered, AuthMethod: models.AuthMethodNone, SecretHash: []byte{}, CreatedAt: now})
	w.create(&models.OAuthGrant{ID: "g-" + user, ClientID: "c-" + user, UserID: user, ProjectID: "p", CreatedAt: now.Add(-time.Minute), LastUsedAt: now, ExpiresAt: now.Add(time.Hour)})
}

// want checks the steps: those that are done in capitals.
func (w *world) want(want string) {
	w.t.Helper()
	progress, err := checklist.New(w.db, func() time.Time { return now }).Of(w.t.Context(), w.p)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, s := range progress.Steps {
		name := string(s.Kind)
		if s.Done {
			name = strings.ToUpper(name)
		}
		got = append(got, name)
	}
	if text := strings.Join(got, " "); text != want {
		w.t.Errorf("steps = %q, want %q", text, want)
	}
	if finished := strings.ToUpper(want) == want; progress.Finished() != finished {
		w.t.Errorf("Finished() = %v, want %v", progress.Finished(), finished)
	}
}

func TestStepsWithKeys(t *testing.T) {
	each(t, models.AuthAPIKey, func(w *world) {
		w.want("server try key connect call")
		w.server()
		w.want("SERVER try key connect call")
		w.call("user:ada", models.CallToolError)
		w.want("SERVER try key connect call")
		w.call("user:ada", models.CallOK)
		w.want("SERVER TRY key connect call")
		past := now.Add(-time.Minute)
		w.key(func(k *models.Key) { k.RevokedAt = &past })
		w.key(func(k *models.Key) { k.ExpiresAt = &now })
		w.want("SERVER TRY key connect call")
		w.key(func(k *models.Key) {})
		w.want("SERVER TRY KEY connect call")
		w.key(func(k *models.Key) { k.LastUsedAt = &past })
		w.want("SERVER TRY KEY CONNECT call")
		w.call("key:1", models.CallFailed)
		w.want("SERVER TRY KEY CONNECT CALL")
	})
}

func TestStepsWithSignIn(t *testing.T) {
	each(t, models.AuthOAuth, func(w *world) {
		w.create(&models.User{ID: "ada", Email: "ada", EmailFold: "ada", Role: models.RoleMember, CreatedAt: now})
		w.want("server try SIGN-IN connect call")
		w.p.Project.OAuthAccess = models.OAuthMembers
		w.want("server try sign-in connect call")
		w.create(&models.ProjectMember{ProjectID: "p", UserID: "ada", CreatedAt: now})
		w.want("server try SIGN-IN connect call")
		w.call("user:eve", models.CallOK) // from the Playground
		w.grant("ada")
		w.want("server TRY SIGN-IN CONNECT call")
		w.call("user:ada", models.CallOK)
		w.server()
		w.want("SERVER TRY SIGN-IN CONNECT CALL")
	})
}

func TestStepsOfOpenProjects(t *testing.T) {
	each(t, models.AuthNone, func(w *world) {
		w.want("server try connect call")
		w.server()
		w.call("anonymous", models.CallOK)
		w.want("SERVER TRY CONNECT CALL")
	})
}

func TestFirstCallImpliesTheOthers(t *testing.T) {
	each(t, models.AuthAPIKey, func(w *world) {
		w.call("key:gone", models.CallOK)
		w.want("server TRY KEY CONNECT CALL")
	})
}

func TestStepsAfterRetentionOfCalls(t *testing.T) {
	const retention = 2 * 24 * time.Hour
	for _, tt := range []struct {
		age  time.Duration
		want string
	}{
		{retention - 1, "SERVER try KEY CONNECT call"},
		{retention, "SERVER try KEY CONNECT call"},
		{retention + 1, "SERVER TRY KEY CONNECT CALL"},
	} {
		each(t, models.AuthAPIKey, func(w *world) {
			w.server()
			w.key(func(k *models.Key) { k.LastUsedAt = &now })
			w.p.Project.RetentionCalls, w.p.Project.CreatedAt = 2, now.Add(-tt.age)
			w.want(tt.want)
		})
	}
}
