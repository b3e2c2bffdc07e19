package models_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"pgregory.net/rapid"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

// moment returns a time outside UTC whose fraction ends in zero.
func moment() time.Time {
	return time.Date(2026, 3, 29, 1, 59, 59, 120_000_000, time.FixedZone("elsewhere", 2*60*60))
}

func project(id string) *models.Project {
	return &models.Project{ID: id, Slug: id, AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}
}

func server(id, projectID string) *models.Server {
	return &models.Server{
		ID: id, ProjectID: projectID, Alias: id, AliasFold: id, Transport: models.TransportAuto,
		AuthType: models.UpstreamAuthNone, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow,
	}
}

// text returns a long text with characters that need escaping.
func text() string { return strings.Repeat(`{"ключ": "\\ \" % _ ' 🛠️"}`+"\r\n\t", 30_000) }

func TestRowsRoundTrip(t *testing.T) {
	at := moment()
	full := []any{
		&models.Project{
			ID: "p", Slug: "demo", Name: "Demo ☕", Description: text(), AuthMode: models.AuthOAuth,
			CodeModeEnabled: true, CodeModeTimeoutMS: 1 << 40, CodeModeAllowFetch: true,
			ToolExposure: models.ExposeBuiltin, ToolNameLimit: 64, DisabledTools: models.StringList{"a__b", "c__d"},
			RatePerSecond: 0.1, RateBurst: 7, ToolNames: models.NamesBare, ValidateArguments: true, ResultLimit: 1 << 40, Instructions: text(), Icon: "data:", WebsiteURL: "https://x.example", ServerCard: true, Limits: models.LimitList{{Per: models.PerTool, Match: "<&>\"*", PerSecond: 0.1, Burst: 2, PerDay: 1 << 53}}, CreatedAt: at, UpdatedAt: at.Add(time.Millisecond),
		},
		&models.Server{
			ID: "s", ProjectID: "p", Alias: "Ever.Thing", AliasFold: "ever.thing", URL: "http://127.0.0.1:1/mcp?a=b%20c",
			Transport: models.TransportSSE, AuthType: models.UpstreamAuthBearer, AuthBearer: "${MCP_UPSTREAM_TOKEN}",
			Headers:      models.StringMap{"X-Api-Key": "v1:k:abc", "": "<&>", "quote\"": "\\"},
			AllowedTools: models.StringList{"*"}, DenyTools: models.StringList{"delete_*", "", "ü?"},
			ToolOverrides: models.ToolOverrides{"get<\"&>": {
				As: "get", Title: "Gét", Description: "a\nb \u2028", Annotations: models.ToolAnnotations{ReadOnlyHint: new(bool)},
				Defaults: map[string]json.RawMessage{"n": json.RawMessage(`1.50`)}, Fixed: map[string]json.RawMessage{"s": json.RawMessage(`{"a":["<&>"]}`)},
			}},
			Enabled: true, TimeoutMS: 60_000, MaxConcurrent: 4096, SessionMode: models.SessionPerClient, DefinitionPolicy: models.PolicyApprove,
			OAuthClientID: "client", OAuthClientSecret: "v1:k:def", OAuthScopes: models.StringList{"mcp:read"},
			OAuthGrant: models.GrantClientCredentials, OAuthClientAuth: models.PrivateKeyJWT, OAuthPrivateKey: "v1:k:ghi", OAuthKeyID: "kid", OAuthTokenURL: "https://as.example/token",
			OAuthAudience: "https://as.example/", TLSAuthority: "-----BEGIN\n", TLSCert: "${file:/run/cert}", TLSKey: "v1:k:jkl", ForwardHeaders: models.StringMap{"X-Team": "X-Group"},
			ProtocolVersion: "2025-06-18", TaskTimeoutMS: 86_400_000, ResultLimit: new(int64(0)), ConfigVersion: 1<<62 + 1, CreatedAt: at, UpdatedAt: at,
		},
		&models.Inventory{
			ServerID: "s", SyncedAt: &at, AttemptedAt: at, ErrorCode: "UPSTREAM_TIMEOUT", ErrorMessage: "it took too long",
			Warnings: models.StringList{"one", "two"}, ProtocolVersion: "2025-06-18", TransportUsed: models.TransportStreamableHTTP,
			ServerInfo: `{"name":"x",  "version":"1"}`, Capabilities: `{"tools":{}}`, Instructions: text(),
		},
		&models.Tool{
			ServerID: "s", Name: "echo", Position: 3, Definition: text(), DefinitionHash: "aa", ApprovedHash: "bb",
			ConfirmedAccess: "write", FirstSeenAt: at, ChangedAt: at,
		},
		&models.Key{
			ID: "k", ProjectID: "p", Name: "laptop", Hash: bytes.Repeat([]byte{0, 0xff}, 16), Prefix: "gwk_abcd",
			CreatedAt: at, ExpiresAt: &at, LastUsedAt: &at, RevokedAt: &at,
		},
		&models.Revision{Topic: "toolset:p", Revision: 1<<62 + 1},
		&models.QuotaUse{ProjectID: "p", Subject: `["key","*","key:1"]`, Day: "2026-03-29", Used: 1<<62 + 1},
	}
	bare := []any{
		project("p"),
		server("s", "p"),
		&models.Inventory{ServerID: "s"},
		&models.Tool{ServerID: "s", Name: "echo"},
		&models.Key{ID: "k", ProjectID: "p", Hash: []byte{1}},
		&models.Revision{Topic: "projects"},
	}
	for name, rows := range map[string][]any{"full": full, "bare": bare} {
		t.Run(name, func(t *testing.T) {
			modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
				for _, row := range rows {
					wrote := reflect.New(reflect.TypeOf(row).Elem())
					wrote.Elem().Set(reflect.ValueOf(row).Elem())
					if err := db.Create(wrote.Interface()).Error; err != nil {
						t.Fatalf("%T: %v", row, err)
					}
					read := reflect.New(reflect.TypeOf(row).Elem()).Interface()
					if err := db.Take(read).Error; err != nil {
						t.Fatalf("%T: %v", row, err)
					}
					// Empty and nil lists and maps are stored alike.
					if diff := cmp.Diff(wrote.Interface(), read, cmp.Transformer("list", nonNilList), cmp.Transformer("limits", nonNilLimits), cmp.Transformer("map", nonNilMap)); diff != "" {
						t.Errorf("%T (-written +read):\n%s", row, diff)
					}
					checkUTC(t, reflect.ValueOf(read).Elem())
				}
			})
		})
	}
}

func nonNilList(l models.StringList) []string { return append([]string{}, l...) }

func nonNilLimits(l models.LimitList) []models.Limit { return append([]models.Limit{}, l...) }

func nonNilMap(m models.StringMap) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func checkUTC(t *testing.T, row reflect.Value) {
	t.Helper()
	for i := range row.NumField() {
		name := row.Type().Name() + "." + row.Type().Field(i).Name
		switch v := row.Field(i).Interface().(type) {
		case time.Time:
			if v.Location() != time.UTC {
				t.Errorf("%s is in %s, want UTC", name, v.Location())
			}
		case *time.Time:
			if v != nil && v.Location() != time.UTC {
				t.Errorf("%s is in %s, want UTC", name, v.Location())
			}
		}
	}
}

func TestAbsentTimesAreNull(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Create([]*models.Project{project("p")}).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&models.Key{ID: "k", ProjectID: "p", Hash: []byte{1}}).Error; err != nil {
			t.Fatal(err)
		}
		var n int64
		if err := db.Model(&models.Key{}).Where("expires_at IS NULL AND last_used_at IS NULL AND revoked_at IS NULL").Count(&n).Error; err != nil {
			t.Fatal(err)
		}
		if n != 1 {
			t.Error("absent time not stored as NULL")
		}
	})
}

func TestTimesSortAcrossZonesAndFractions(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	offsets := []time.Duration{0, 120 * time.Millisecond, 123 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Hour}
	zones := []*time.Location{time.UTC, time.FixedZone("east", 9*60*60), time.FixedZone("west", -8*60*60)}
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Create(project("p")).Error; err != nil {
			t.Fatal(err)
		}
		var want []string
		for i, offset := range offsets {
			id := string(rune('a' + i))
			want = append(want, id)
			key := &models.Key{ID: id, ProjectID: "p", Hash: []byte(id), CreatedAt: base.Add(offset).In(zones[i%len(zones)])}
			if err := db.Create(key).Error; err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		if err := db.Model(&models.Key{}).Order("created_at").Pluck("id", &got).Error; err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("order by time = %v, want %v", got, want)
		}
		for i, offset := range offsets {
			for _, zone := range zones {
				var n int64
				if err := db.Model(&models.Key{}).Where("created_at < ?", base.Add(offset).In(zone)).Count(&n).Error; err != nil {
					t.Fatal(err)
				}
				if n != int64(i) {
					t.Errorf("%d keys older than base+%s in zone %s, want %d", n, offset, zone, i)
				}
			}
		}
	})
}

func TestGeneratedTimesMatchStoredTimes(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		wrote := project("p")
		if err := db.Create(wrote).Error; err != nil {
			t.Fatal(err)
		}
		var read models.Project
		if err := db.Take(&read).Error; err != nil {
			t.Fatal(err)
		}
		if wrote.CreatedAt.IsZero() || !read.CreatedAt.Equal(wrote.CreatedAt) || !read.UpdatedAt.Equal(wrote.UpdatedAt) {
			t.Errorf("written created_at %v and updated_at %v, read %v and %v", wrote.CreatedAt, wrote.UpdatedAt, read.CreatedAt, read.UpdatedAt)
		}
	})
}

func TestSchemaConstraints(t *testing.T) {
	valid := func(db *gorm.DB) error {
		return db.Create([]*models.Project{project("p"), project("q")}).Error
	}
	cases := []struct {
		name string
		do   func(db *gorm.DB) error
	}{
		{"duplicate slug", func(db *gorm.DB) error {
			p := project("r")
			p.Slug = "p"
			return db.Create(p).Error
		}},
		{"unknown access mode", func(db *gorm.DB) error {
			p := project("r")
			p.AuthMode = "open"
			return db.Create(p).Error
		}},
		{"server without project", func(db *gorm.DB) error { return db.Create(server("s", "absent")).Error }},
		{"duplicate alias in another case", func(db *gorm.DB) error {
			if err := db.Create(server("s", "p")).Error; err != nil {
				return nil // the caller reports the missing error
			}
			s := server("S", "p")
			s.AliasFold = "s"
			return db.Create(s).Error
		}},
		{"duplicate key hash", func(db *gorm.DB) error {
			if err := db.Create(&models.Key{ID: "1", ProjectID: "p", Hash: []byte{1}}).Error; err != nil {
				return nil
			}
			return db.Create(&models.Key{ID: "2", ProjectID: "q", Hash: []byte{1}}).Error
		}},
	}
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := valid(db); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				tx := db.Begin()
				defer tx.Rollback()
				if err := c.do(tx); err == nil {
					t.Error("no constraint violation")
				}
			})
		}
		t.Run("the same alias in two projects", func(t *testing.T) {
			tx := db.Begin()
			defer tx.Rollback()
			other := server("s2", "q")
			other.AliasFold = "s"
			if err := tx.Create([]*models.Server{server("s", "p"), other}).Error; err != nil {
				t.Error(err)
			}
		})
	})
}

func TestProjectDeletionCascades(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, row := range []any{
			project("p"), server("s", "p"), &models.Inventory{ServerID: "s"},
			&models.Tool{ServerID: "s", Name: "echo"}, &models.Key{ID: "k", ProjectID: "p", Hash: []byte{1}},
		} {
			if err := db.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Delete(&models.Project{ID: "p"}).Error; err != nil {
			t.Fatal(err)
		}
		for _, owned := range []any{&models.Server{}, &models.Inventory{}, &models.Tool{}, &models.Key{}} {
			var n int64
			if err := db.Model(owned).Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			if n != 0 {
				t.Errorf("%d rows of %T left after deletion of their project", n, owned)
			}
		}
	})
}

func TestListAndMapColumnsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := models.StringList(rapid.SliceOf(rapid.String()).Draw(t, "list"))
		stored, err := list.Value()
		if err != nil {
			t.Fatal(err)
		}
		var listBack models.StringList
		if err := listBack.Scan(stored); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(nonNilList(list), nonNilList(listBack)); diff != "" {
			t.Fatalf("list (-written +read):\n%s", diff)
		}
		dict := models.StringMap(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "map"))
		if stored, err = dict.Value(); err != nil {
			t.Fatal(err)
		}
		var dictBack models.StringMap
		if err := dictBack.Scan([]byte(stored.(string))); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(nonNilMap(dict), nonNilMap(dictBack)); diff != "" {
			t.Fatalf("map (-written +read):\n%s", diff)
		}
	})
}
