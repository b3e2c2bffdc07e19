package connections_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/connections"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func ring(t testing.TB, seed byte) *secrets.KeyRing {
	t.Helper()
	b := make([]byte, 32)
	for i := range b {
		b[i] = seed + byte(i)*7
	}
	r, err := secrets.ParseKeyRing("k1:" + base64.StdEncoding.EncodeToString(b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTicketRoundTrip(t *testing.T) {
	public, _ := url.Parse("https://gateway.example.com/")
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	tickets := connections.NewTickets(ring(t, 1), public, now)
	for _, elicitation := range []string{"", "e-1", strings.Repeat("e", 300)} {
		text := tickets.New("user", "server", elicitation)
		want := connections.Ticket{UserID: "user", ServerID: "server", ElicitationID: elicitation, ExpiresAt: clock.Add(15 * time.Minute)}
		if got, err := connections.NewTickets(ring(t, 1), public, now).Open(text); err != nil || got != want {
			t.Errorf("Open() = %+v, %v, want %+v", got, err, want)
		}
	}
	text := tickets.New("user", "server", "e")
	if text == tickets.New("user", "server", "e") {
		t.Error("two tickets are equal")
	}
	if got, want := tickets.URL("a b", text), "https://gateway.example.com/me/connections/a%20b?t="+text; got != want {
		t.Errorf("URL() = %s, want %s", got, want)
	}
	if got := tickets.URL("id", ""); got != "https://gateway.example.com/me/connections/id" {
		t.Errorf("URL() without a ticket = %s", got)
	}
	for _, tt := range []struct {
		after time.Duration
		valid bool
	}{{0, true}, {15*time.Minute - time.Second, true}, {15 * time.Minute, false}, {15*time.Minute + time.Second, false}} {
		later := connections.NewTickets(ring(t, 1), public, func() time.Time { return clock.Add(tt.after) })
		if _, err := later.Open(text); (err == nil) != tt.valid {
			t.Errorf("Open() after %s: %v", tt.after, err)
		}
	}
}

func TestForgedTickets(t *testing.T) {
	keys := ring(t, 1)
	public, _ := url.Parse("https://gateway.example.com")
	tickets := connections.NewTickets(keys, public, time.Now)
	text := tickets.New("user", "server", "e")
	forged := []string{"", "x", text + "A", text[1:], strings.Repeat("A", 2000), keys.SealToken("cursor", []byte("x"))}
	for i := range len(text) {
		changed := []byte(text)
		changed[i] ^= 1
		forged = append(forged, string(changed))
	}
	for _, plain := range []string{"", "\x01", "\x02" + strings.Repeat("\x00", 11), "\x01\x7f" + strings.Repeat("\x00", 7) + "\x01", "\x01\x7f" + strings.Repeat("\x00", 7) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		forged = append(forged, keys.SealToken("connection ticket", []byte(plain)))
	}
	for _, s := range forged {
		if got, err := tickets.Open(s); !fault.Is(err, fault.CodeInvalidParameter) || got != (connections.Ticket{}) {
			t.Errorf("Open(%q) = %+v, %v", s, got, err)
		}
	}
	if _, err := connections.NewTickets(ring(t, 2), public, time.Now).Open(text); err == nil {
		t.Error("opened with another key")
	}
}
