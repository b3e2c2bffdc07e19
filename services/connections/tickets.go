// Package connections manages the connections of users to the servers that
// everyone uses with their own account: which a user may connect, who connected
// to a server, and the links with which clients request a connection.
package connections

import (
	"encoding/binary"
	"net/url"
	"strings"
	"time"

	"mcpgateway/services/fault"
)

// TicketLifetime is the lifetime of a ticket.
const TicketLifetime = 15 * time.Minute

const (
	ticketPurpose = "connection ticket"
	ticketVersion = 1
	maxTicket     = 1024 // characters
)

// Sealer encrypts and decrypts opaque tokens. Implemented by *secrets.KeyRing.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Ticket is the content of a link with which a client requests that a user
// connects their account to a server.
type Ticket struct {
	UserID, ServerID string
	// ElicitationID identifies the client's request to complete, or is empty.
	ElicitationID string
	ExpiresAt     time.Time // to the second
}

// Tickets seals and opens the tickets of links. They are valid on every replica
// with the same keys.
type Tickets struct {
	sealer Sealer
	base   string // public URL without a trailing slash
	now    func() time.Time
}

// NewTickets returns the Tickets of links to a public URL.
func NewTickets(sealer Sealer, publicURL *url.URL, now func() time.Time) *Tickets {
	return &Tickets{sealer: sealer, base: strings.TrimSuffix(publicURL.String(), "/"), now: now}
}

// New returns a sealed ticket that is valid for TicketLifetime. Two tickets for
// the same request differ.
func (t *Tickets) New(userID, serverID, elicitationID string) string {
	plain := binary.BigEndian.AppendUint64([]byte{ticketVersion}, uint64(t.now().Add(TicketLifetime).Unix())) //nolint:gosec // after 1970
	for _, part := range [...]string{userID, serverID, elicitationID} {
		plain = binary.AppendUvarint(plain, uint64(len(part)))
		plain = append(plain, part...)
	}
	return t.sealer.SealToken(ticketPurpose, plain)
}

// Open returns the content of a ticket, or INVALID_PARAMETER for a forged and
// for an expired one.
func (t *Tickets) Open(text string) (Ticket, error) {
	if text == "" || len(text) > maxTicket {
		return Ticket{}, invalidTicket()
	}
	plain, err := t.sealer.OpenToken(ticketPurpose, text)
	if err != nil || len(plain) < 9 || plain[0] != ticketVersion {
		return Ticket{}, invalidTicket()
	}
	ticket := Ticket{ExpiresAt: time.Unix(int64(binary.BigEndian.Uint64(plain[1:])), 0).UTC()} //nolint:gosec // sealed by New
	rest := plain[9:]
	for _, part := range [...]*string{&ticket.UserID, &ticket.ServerID, &ticket.ElicitationID} {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) { //nolint:gosec // n is at most the length
			return Ticket{}, invalidTicket()
		}
		rest = rest[n:]
		*part, rest = string(rest[:size]), rest[size:]
	}
	if !t.now().Before(ticket.ExpiresAt) {
		return Ticket{}, invalidTicket()
	}
	return ticket, nil
}

// URL returns the page on which a user connects to a server. The ticket can be
// empty.
func (t *Tickets) URL(serverID, ticket string) string {
	page := t.base + "/me/connections/" + url.PathEscape(serverID)
	if ticket == "" {
		return page
	}
	return page + "?t=" + url.QueryEscape(ticket)
}

// Link returns the page on which a user connects to a server, with a new ticket.
func (t *Tickets) Link(userID, serverID, elicitationID string) string {
	return t.URL(serverID, t.New(userID, serverID, elicitationID))
}

func invalidTicket() error {
	return fault.Invalid("This link has expired. Ask your client for a new one.")
}
