package destinations_test

import (
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/secrets"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newStore(t *testing.T, db *gorm.DB) *destinations.Store {
	t.Helper()
	keys, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return noon }
	return destinations.NewStore(destinations.Options{DB: db, Audit: activity.NewAudit(db, clock), Keys: keys, CheckURL: egress.CheckURL, Now: clock})
}

func hook(name string) destinations.New {
	return destinations.New{Name: name, Kind: models.DestinationWebhook, Address: secrets.NewValue("https://hooks.example/secret-path?token=1")}
}

func TestInvalidDestinations(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		s := newStore(t, db)
		for name, tt := range map[string]struct {
			change func(n *destinations.New)
			code   fault.Code
			field  string
		}{
			"no name":        {func(n *destinations.New) { n.Name = " " }, fault.CodeValidationFailed, "name"},
			"a long name":    {func(n *destinations.New) { n.Name = strings.Repeat("a", destinations.MaxName+1) }, fault.CodeValidationFailed, "name"},
			"the file":       {func(n *destinations.New) { n.Kind = models.DestinationFile }, fault.CodeValidationFailed, "kind"},
			"no kind":        {func(n *destinations.New) { n.Kind = "" }, fault.CodeValidationFailed, "kind"},
			"no address":     {func(n *destinations.New) { n.Address = secrets.Value{} }, fault.CodeValidationFailed, "address"},
			"a short secret": {func(n *destinations.New) { n.Secret = secrets.NewValue("whsec_MfKQ9r8GKYqr") }, fault.CodeValidationFailed, "secret"},
			"a secret of Slack": {func(n *destinations.New) {
				n.Kind, n.Secret = models.DestinationSlack, secrets.NewValue("x")
			}, fault.CodeValidationFailed, "secret"},
			"no header": {func(n *destinations.New) {
				n.Kind, n.Secret = models.DestinationOTLP, secrets.NewValue("token")
			}, fault.CodeValidationFailed, "secret"},
			"the header of the body": {func(n *destinations.New) {
				n.Kind, n.Secret = models.DestinationOTLP, secrets.NewValue("content-type: text/plain")
			}, fault.CodeValidationFailed, "secret"},
			"a wrong filter": {func(n *destinations.New) { n.Filter = "colour:red" }, fault.CodeUnknownQualifier, ""},
		} {
			n := hook("x")
			tt.change(&n)
			_, _, err := s.Create(t.Context(), n)
			if f := fault.From(err); err == nil || f.Code != tt.code || tt.field != "" && f.Fields[tt.field] == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		n := hook(strings.Repeat("ä", destinations.MaxName))
		if _, _, err := s.Create(t.Context(), n); err != nil {
			t.Errorf("the longest name: %v", err)
		}
		if _, _, err := s.Create(t.Context(), n); !fault.Is(err, fault.CodeConflict) {
			t.Errorf("the same name: %v", err)
		}
	})
}

func TestSecretsAreSealed(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		s := newStore(t, db)
		row, first, err := s.Create(t.Context(), hook("x"))
		if err != nil {
			t.Fatal(err)
		}
		_, second, err := s.Rotate(t.Context(), row.ID, secrets.Value{})
		if err != nil || first.Reveal() == second.Reveal() {
			t.Fatalf("rotated to the same secret: %v", err)
		}
		stored, _ := s.Get(t.Context(), row.ID)
		for _, text := range []string{first.Reveal(), second.Reveal(), "secret-path"} {
			for _, column := range []string{stored.Address, stored.Secret, stored.FormerSecret} {
				if strings.Contains(column, text) || column == "" {
					t.Errorf("column %q is in cleartext or empty", column)
				}
			}
		}
		if got := s.ShownAddress(&stored); got != "https://hooks.example/…" {
			t.Errorf("shown address = %q", got)
		}
		if !stored.FormerUntil.Equal(noon.Add(destinations.RotationTime)) {
			t.Errorf("former secret until %v", stored.FormerUntil)
		}
		var details []string
		db.Model(&models.AuditEntry{}).Order("seq").Pluck("action || ' ' || detail", &details)
		if got := strings.Join(details, "\n"); strings.Contains(got, "secret-path") || !strings.Contains(got, "destination.created") || !strings.Contains(got, "destination.rotated") {
			t.Errorf("audit log:\n%s", got)
		}
	})
}

func TestDestinationsAreLimited(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		s := newStore(t, db)
		for n := range destinations.MaxDestinations + 1 {
			_, _, err := s.Create(t.Context(), hook(strings.Repeat("x", n+1)))
			if full := n == destinations.MaxDestinations; full != fault.Is(err, fault.CodeConflict) || !full && err != nil {
				t.Errorf("destination %d: %v", n+1, err)
			}
		}
	})
}

func TestFileBelongsToOperator(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		s := newStore(t, db)
		if err := s.UseFile(t.Context(), "/var/log/events"); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), destinations.FileID); !fault.Is(err, fault.CodeConflict) {
			t.Errorf("Delete = %v", err)
		}
		name := "x"
		if _, err := s.Update(t.Context(), destinations.FileID, destinations.Change{Name: &name}); !fault.Is(err, fault.CodeConflict) {
			t.Errorf("Update = %v", err)
		}
		row, _, err := s.Create(t.Context(), hook("x"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), row.ID); err != nil {
			t.Errorf("Delete of a webhook = %v", err)
		}
		if _, err := s.Get(t.Context(), row.ID); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("Get = %v", err)
		}
	})
}
