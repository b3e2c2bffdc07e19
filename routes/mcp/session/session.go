// Package session creates, opens and ends the session ids of MCP clients. An id
// contains its sealed session, so every process accepts it.
package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"log/slog"
	"strings"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/capabilities"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/sessions"
)

// sessionPurpose distinguishes session ids from other sealed tokens.
const sessionPurpose = "mcp session"

// Limits for session ids (contract, "Limits").
const (
	// maxCapabilities is the maximum size in bytes of the client capabilities
	// in a session id.
	maxCapabilities = 4 << 10
	// maxOpenedSessions is the maximum number of cached sessions. The cache is
	// set-associative, with sessionsPerSet slots per set.
	maxOpenedSessions = 16_384
	sessionsPerSet    = 4
	// maxOpenedID is the maximum length in bytes of cached ids. It limits the
	// memory of the cache. Longer ids are decrypted at each use.
	maxOpenedID = 1 << 10
)

// Session is the content of a session id. It is sealed in the id itself, so
// every process of the gateway accepts the id, also after a restart.
type Session struct {
	Project      string          `json:"p"`
	Principal    string          `json:"c"` // at its endpoint; see access.Principal.Caller
	Version      string          `json:"v"`
	Capabilities json.RawMessage `json:"k,omitempty"` // of the client; an object
	Issued       int64           `json:"i"`           // Unix seconds
	Nonce        string          `json:"n"`

	hash sessions.Hash
	key  string
}

// Key identifies the session in this process and in the services. It is not a
// credential.
func (s *Session) Key() string { return s.key }

// EndedSessions stores the sessions that clients ended. Implemented by
// sessions.Ended.
type EndedSessions interface {
	IsEnded(session sessions.Hash) bool
	End(ctx context.Context, session sessions.Hash) error
}

// Sessions creates, opens and ends session ids (MCP 2025-11-25, "Session
// Management"). It is safe for concurrent use.
type Sessions struct {
	log    *slog.Logger
	keys   *secrets.KeyRing
	ended  EndedSessions
	now    func() time.Time
	opened sessionCache
}

// NewSessions returns Sessions whose ids are sealed with keys. Sessions in
// ended are rejected.
func NewSessions(keys *secrets.KeyRing, ended EndedSessions, now func() time.Time, log *slog.Logger) *Sessions {
	return &Sessions{log: log, keys: keys, ended: ended, now: now, opened: sessionCache{seed: maphash.MakeSeed()}}
}

// Mint returns a new session id of the principal in the project. declared
// is the raw object that the client declared. It is omitted if it isn't an
// object, and shortened beyond 4 KiB, which is logged.
func (s *Sessions) Mint(projectID string, principal access.Principal, version string, declared []byte) (string, error) {
	session := Session{
		Project: projectID, Principal: principal.Caller(), Version: version,
		Issued: s.now().Unix(), Nonce: rand.Text(),
	}
	if rawjson.Kind(declared) == '{' {
		short, omitted := capabilities.Shorten(declared, maxCapabilities)
		if len(omitted) > 0 {
			s.log.Info("client capabilities shortened", "project_id", projectID, "bytes", len(declared), "omitted", omitted)
		}
		session.Capabilities = short
	}
	// The id is sent in a header and must be short. json.Marshal would escape
	// HTML characters in the capabilities.
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&session); err != nil {
		return "", fault.Internal(err)
	}
	return s.keys.SealToken(sessionPurpose, b.Bytes()), nil
}

// Open returns the session of an id. It is shared and must not be modified. id
// is not retained. Open returns NOT_FOUND with Restart for an ended session,
// and for an id that was not created for this project and principal.
func (s *Sessions) Open(id, projectID string, principal access.Principal) (*Session, error) {
	session := s.read(id)
	if session == nil || session.Project != projectID || session.Principal != principal.Caller() || !s.Lives(session) {
		f := fault.New(fault.KindNotFound, fault.CodeNotFound, "This session has ended. Call initialize again.")
		f.Restart = true
		return nil, f
	}
	return session, nil
}

// read returns the session in an id, or nil if the id is not sealed with the
// keys.
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

// Lives reports whether a session is neither expired nor ended.
func (s *Sessions) Lives(session *Session) bool {
	return s.now().Sub(time.Unix(session.Issued, 0)) < sessions.Lifetime && !s.ended.IsEnded(session.hash)
}

// End ends a session in every process. It returns the faults of EndedSessions.
func (s *Sessions) End(ctx context.Context, session *Session) error {
	return s.ended.End(ctx, session.hash)
}
