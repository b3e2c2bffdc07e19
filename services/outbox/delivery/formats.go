package delivery

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/outbox/signing"
	"mcpgateway/services/secrets"
)

// timeFormat is RFC 3339 with the milliseconds that are stored.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// payload is the body of a webhook and a line of a file.
type payload struct {
	ID        string          `json:"id,omitempty"` // in files; webhooks have it in a header
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

func bodyOf(e *models.OutboxEvent) payload {
	data := e.Body
	if data == "null" {
		data = "{}"
	}
	return payload{Type: e.Kind, Timestamp: e.At.UTC().Format(timeFormat), Data: json.RawMessage(data)}
}

// webhook returns the body and the headers of a Standard Webhook. Both secrets of a
// rotation sign it.
func (s *Sender) webhook(to *models.Destination, e *models.OutboxEvent, secret secrets.Value) ([]byte, http.Header, error) {
	body, err := json.Marshal(bodyOf(e))
	if err != nil {
		return nil, nil, err
	}
	with, now := []secrets.Value{secret}, s.now()
	if to.FormerUntil != nil && now.Before(*to.FormerUntil) {
		former, err := s.keys.Open(to.FormerSecret, destinations.FormerSecretRow(to.ID))
		if err != nil {
			return nil, nil, err
		}
		with = append(with, former)
	}
	signature, err := signing.Sign(e.ID, now, body, with...)
	if err != nil {
		return nil, nil, err
	}
	header := http.Header{}
	header.Set("webhook-id", e.ID)
	header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("webhook-signature", signature)
	return body, header, nil
}

// line returns an event in one readable line.
func (s *Sender) line(e *models.OutboxEvent) string {
	var data struct {
		Message string
		Object  string
		Actor   struct{ Kind, Name string }
	}
	_ = json.Unmarshal([]byte(e.Body), &data) // other data has none of them
	text := e.Kind
	switch {
	case data.Message != "":
		text += ": " + data.Message
	case data.Object != "":
		text += ": " + data.Object
	}
	if e.Project != "" {
		text += " (project " + e.Project + ")"
	}
	if e.Audit && data.Actor.Name != "" {
		text += " by " + data.Actor.Name
	}
	return clean(text)
}

// link returns the address of the page about an event.
func (s *Sender) link(e *models.OutboxEvent) string {
	switch {
	case e.Audit:
		action, _, _ := strings.Cut(e.Kind, ".")
		return s.public + "/admin/audit?action=" + url.QueryEscape(action)
	case e.Project != "":
		return s.public + "/admin/projects/" + url.PathEscape(e.Project)
	}
	return s.public + "/admin"
}

// slackBody returns the body of an incoming webhook of Slack: a line with a link,
// with the characters escaped that have a meaning there.
func slackBody(line, link string) ([]byte, error) {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	return json.Marshal(map[string]string{"text": escape.Replace(line) + " <" + escape.Replace(link) + "|Open>"})
}

// logs returns events as log records of OTLP 1 in JSON
// (ExportLogsServiceRequest).
func (s *Sender) logs(events []models.OutboxEvent) ([]byte, error) {
	records := make([]logRecord, len(events))
	for i := range events {
		e := &events[i]
		records[i] = logRecord{
			Time: nanos(e.At), Observed: nanos(s.now()), Severity: 9, SeverityText: "INFO", EventName: e.Kind, Body: anyValue{s.line(e)},
			Attributes: []attribute{
				{"event.id", anyValue{e.ID}}, {"event.name", anyValue{e.Kind}}, {"gateway.project", anyValue{e.Project}},
				{"gateway.event.data", anyValue{string(bodyOf(e).Data)}}, {"url.full", anyValue{s.link(e)}},
			},
		}
		if warns(e.Kind) {
			records[i].Severity, records[i].SeverityText = 13, "WARN"
		}
	}
	return json.Marshal(map[string]any{"resourceLogs": []any{map[string]any{
		"resource":  map[string]any{"attributes": []attribute{{"service.name", anyValue{"mcpgateway"}}, {"service.version", anyValue{s.version}}}},
		"scopeLogs": []any{map[string]any{"scope": map[string]string{"name": "mcpgateway.events"}, "logRecords": records}},
	}}})
}

type logRecord struct {
	Time         string      `json:"timeUnixNano"`
	Observed     string      `json:"observedTimeUnixNano"`
	Severity     int         `json:"severityNumber"`
	SeverityText string      `json:"severityText"`
	EventName    string      `json:"eventName"`
	Body         anyValue    `json:"body"`
	Attributes   []attribute `json:"attributes"`
}

type anyValue struct {
	Text string `json:"stringValue"`
}

type attribute struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// warns reports whether an event is about something that needs attention.
func warns(kind string) bool {
	for _, part := range []string{".down", ".fired", ".exceeded", ".expired", ".expiring", "_needed", "_broken", ".definition_changed"} {
		if strings.HasSuffix(kind, part) {
			return true
		}
	}
	return false
}

// appendLines appends events to a file, one JSON object per line, and syncs it.
func appendLines(path string, events []models.OutboxEvent) Reply {
	var lines []byte
	for i := range events {
		p := bodyOf(&events[i])
		p.ID = events[i].ID
		line, err := json.Marshal(p)
		if err != nil {
			return Reply{Err: err}
		}
		lines = append(append(lines, line...), '\n')
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the operator's setting
	if err != nil {
		return Reply{Err: err}
	}
	_, err = file.Write(lines)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return Reply{Err: err}
}
