package outbox_test

import (
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox"
)

func TestFilter(t *testing.T) {
	down := models.OutboxEvent{Kind: "server.down", Project: "work", Body: `{"server":"GitHub"}`}
	key := models.OutboxEvent{Kind: "key.created", Project: "play", Audit: true, Body: `{"object":"Ci"}`}
	for _, tt := range []struct {
		filter    string
		down, key bool
	}{
		{"", true, true},
		{"kind:server", true, false}, {"kind:server.down", true, false}, {"kind:serv", false, false}, {"kind:server.d", false, false},
		{"kind:audit", false, true}, {"-kind:audit", true, false}, {"kind:key", false, true},
		{"action:key", false, true}, {"action:key.created", false, true}, {"action:server", false, false},
		{"project:work", true, false}, {"project:work project:play", true, true}, {"-project:work", false, true},
		{"github", true, false}, {"KEY.CREATED", false, true}, {`kind:server "nothing like it"`, false, false},
	} {
		filter, err := outbox.ParseFilter(tt.filter)
		if err != nil {
			t.Errorf("%q: %v", tt.filter, err)
			continue
		}
		if down, key := filter.Matches(&down), filter.Matches(&key); down != tt.down || key != tt.key {
			t.Errorf("%q matches %v and %v, want %v and %v", tt.filter, down, key, tt.down, tt.key)
		}
	}
	if _, err := outbox.ParseFilter("server:github"); !fault.Is(err, fault.CodeUnsupportedQualifier) {
		t.Errorf("unknown qualifier: %v", err)
	}
}
