// Package session mints, opens and ends the session ids of MCP clients. An id
// carries its session, sealed, so that every process accepts it.
package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"strings"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/sessions"
)

// sessionPurpose keeps session ids apart from every other sealed token.
const sessionPurpose = "mcp session"

// Bounds of what session ids cost (contract, "Limits").
const (
	// maxCapabilities bounds the declared capabilities that a session id
	// carries, in bytes.
	maxCapabilities = 4 << 10
	// maxOpenedSessions bounds the sessions whose ids need not be opened again,
	// each of which has sessionsPerSet places to be in.
	maxOpenedSessions = 16_384
	sessionsPerSet    = 4
	// maxOpenedID bounds the ids of those sessions, in bytes, and with them what
	// they hold: longer ones are opened every time.
	maxOpenedID = 1 << 10
)

// Session is what a session id says. The id itself carries it, sealed, so
// that every process of the gateway accepts it, also after a restart.
type Session struct {
	Project      string          `json:"p"`
	Principal    string          `json:"c"`
	Version      string          `json:"v"`
	Capabilities json.RawMessage `json:"k,omitempty"` // of the client; an object
	Issued       int64           `json:"i"`           // Unix seconds
	Nonce        string          `json:"n"`

	hash sessions.Hash
	key  string
}

// Key identifies the session in this process and toward the services. It is
// not good for using the session.
func (s *Session) Key() string { return s.key }

// EndedSessions remembers the sessions that clients ended.
type EndedSessions interface {
	Has(session sessions.Hash) bool
	End(ctx context.Context, session sessions.Hash) error
}

// Sessions mints, opens and ends session ids (MCP 2025-11-25, "Session
// Management").
type Sessions struct {
	keys   *secrets.KeyRing
	ended  EndedSessions
	now    func() time.Time
	opened openedSessions
}

// NewSessions returns sessions sealed with the key ring, without those that
// ended names.
func NewSessions(keys *secrets.KeyRing, ended EndedSessions, now func() time.Time) *Sessions {
	return &Sessions{keys: keys, ended: ended, now: now, opened: openedSessions{seed: maphash.MakeSeed()}}
}

// Mint returns a fresh session id of the principal in the project.
// capabilities is the raw object that the client declared, or anything else
// for none; beyond 4 KiB it counts as empty.
func (s *Sessions) Mint(projectID string, principal access.Principal, version string, capabilities []byte) (string, error) {
	session := Session{
		Project: projectID, Principal: principal.ID(), Version: version,
		Issued: s.now().Unix(), Nonce: rand.Text(),
	}
	switch {
	case rawjson.Kind(capabilities) != '{':
	case len(capabilities) > maxCapabilities:
		session.Capabilities = json.RawMessage("{}")
	default:
		session.Capabilities = capabilities
	}
	// The id travels in a header, so nothing may grow on the way into it, as
	// Marshal would make the capabilities.
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&session); err != nil {
		return "", fault.Internal(err)
	}
	return s.keys.SealToken(sessionPurpose, b.Bytes()), nil
}

// Open returns the session of an id, which must not be changed: others get the
// same. The text of the id is not kept. It returns NOT_FOUND, with restart, for an id that this gateway did not
// mint for the same project and principal, and for one that has ended.
func (s *Sessions) Open(id, projectID string, principal access.Principal) (*Session, error) {
	session := s.read(id)
	if session == nil || session.Project != projectID || session.Principal != principal.ID() || !s.Lives(session) {
		f := fault.New(fault.KindNotFound, fault.CodeNotFound, "this session has ended: initialize again")
		f.Restart = true
		return nil, f
	}
	return session, nil
}

// read returns what an id says, or nil when this gateway did not mint it.
func (s *Sessions) read(id string) *Session {
	hash := s.opened.hash(id)
	if session := s.opened.find(hash, id); session != nil {
		return session
	}
	b, err := s.keys.OpenToken(sessionPurpose, id)
	if err != nil {
		return nil
	}
	session := &Session{}
	if json.Unmarshal(b, session) != nil {
		return nil
	}
	session.hash = sessions.HashOf(id)
	session.key = base64.RawURLEncoding.EncodeToString(session.hash[:])
	if len(id) <= maxOpenedID {
		s.opened.keep(hash, strings.Clone(id), session)
	}
	return session
}

// Lives reports whether a session that was opened may still be used.
func (s *Sessions) Lives(session *Session) bool {
	return s.now().Sub(time.Unix(session.Issued, 0)) < sessions.Lifetime && !s.ended.Has(session.hash)
}

// End ends a session for every process. It returns the faults of EndedSessions.
func (s *Sessions) End(ctx context.Context, session *Session) error {
	return s.ended.End(ctx, session.hash)
}
