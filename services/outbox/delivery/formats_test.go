package delivery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/secrets"
)

func TestSlackLine(t *testing.T) {
	w := newWorld(t, modelstest.Open(t, modelstest.SQLite(t)))
	r := w.receive()
	d, _ := w.to(models.DestinationSlack, r.URL+"/services/T/B/X", "kind:server")
	err := w.events.AddNow(t.Context(), outbox.Event{Kind: outbox.ServerDown, Project: "work", Data: map[string]string{"message": "a & <b>\nis down"}})
	if err != nil {
		t.Fatal(err)
	}
	w.run(d.ID, time.Second)
	var got struct{ Text string }
	if len(r.got()) != 1 || json.Unmarshal([]byte(r.got()[0].body), &got) != nil {
		t.Fatalf("received %+v", r.got())
	}
	want := "server.down: a &amp; &lt;b&gt; is down (project work) <https://gateway.example/admin/projects/work|Open>"
	if got.Text != want || r.got()[0].header.Get("webhook-signature") != "" {
		t.Errorf("text = %q, want %q", got.Text, want)
	}
}

func TestLogRecords(t *testing.T) {
	w := newWorld(t, modelstest.Open(t, modelstest.SQLite(t)))
	r := w.receive()
	d, _, err := w.store.Create(t.Context(), destinations.New{
		Name: "logs", Kind: models.DestinationOTLP, Address: secrets.NewValue(r.URL + "/v1/logs"), Secret: secrets.NewValue("Authorization: Bearer token"), Filter: "kind:x",
	})
	if err != nil {
		t.Fatal(err)
	}
	w.raise("x", 1, maxBatch+1)
	w.run(d.ID, time.Second)
	if len(r.got()) != 2 || r.got()[0].header.Get("Authorization") != "Bearer token" {
		t.Fatalf("%d requests", len(r.got()))
	}
	var got struct {
		ResourceLogs []struct {
			ScopeLogs []struct {
				LogRecords []struct {
					TimeUnixNano, EventName string
					SeverityNumber          int
					Attributes              []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(r.got()[0].body), &got); err != nil {
		t.Fatal(err)
	}
	records := got.ResourceLogs[0].ScopeLogs[0].LogRecords
	if len(records) != maxBatch || records[0].TimeUnixNano != "1772366400000000000" || records[0].EventName != "x" || records[0].SeverityNumber != 9 || records[0].Attributes[3].Value.StringValue != `{"n":1}` {
		t.Errorf("%d records, the first is %+v", len(records), records[0])
	}
}

func TestFileGetsLines(t *testing.T) {
	w := newWorld(t, modelstest.Open(t, modelstest.SQLite(t)))
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := w.store.UseFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	w.raise("x", 1, 3)
	w.run(destinations.FileID, time.Second)
	b, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if err != nil || len(lines) != 3 || !strings.Contains(lines[2], `"type":"x","timestamp":"2026-03-01T12:00:00.000Z","data":{"n":3}}`) {
		t.Errorf("%v: %q", err, lines)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := w.store.UseFile(t.Context(), ""); err != nil || w.row(destinations.FileID).Active {
		t.Errorf("the file is still used: %v", err)
	}
}

// TestBlockedAddressFails: the egress guard applies to destinations.
func TestBlockedAddressFails(t *testing.T) {
	w := newWorld(t, modelstest.Open(t, modelstest.SQLite(t)))
	d, _ := w.to(models.DestinationWebhook, "http://10.1.2.3/secret-path", "")
	reply := w.deliveries.Test(t.Context(), &d)
	if reply.Err == nil || !strings.Contains(reply.Text, "GATEWAY_EGRESS_ALLOW") || strings.Contains(reply.Text, "secret-path") {
		t.Errorf("reply = %+v", reply)
	}
}
