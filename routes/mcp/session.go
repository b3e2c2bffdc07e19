package mcp

import (
	"encoding/json"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// sessionPurpose keeps session ids apart from every other sealed token.
const sessionPurpose = "mcp session"

// Session is what a session id says. The id itself carries it, sealed, so
// that every process of the gateway accepts it, also after a restart.
type Session struct {
	Project   string `json:"p"`
	Principal string `json:"c"`
	Version   string `json:"v"`
}

// Sessions mints and opens session ids (MCP, "Session Management").
type Sessions struct{ keys *secrets.KeyRing }

// NewSessions returns sessions sealed with the key ring.
func NewSessions(keys *secrets.KeyRing) *Sessions { return &Sessions{keys: keys} }

// Mint returns a fresh session id of the principal in the project.
func (s *Sessions) Mint(projectID string, principal access.Principal, version string) (string, error) {
	b, err := json.Marshal(Session{Project: projectID, Principal: principal.ID(), Version: version})
	if err != nil {
		return "", fault.Internal(err)
	}
	return s.keys.SealToken(sessionPurpose, b), nil
}

// Open returns the session of an id. It returns NOT_FOUND for an id that this
// gateway did not mint for the same project and principal.
func (s *Sessions) Open(id, projectID string, principal access.Principal) (Session, error) {
	var session Session
	b, err := s.keys.OpenToken(sessionPurpose, id)
	if err != nil || json.Unmarshal(b, &session) != nil || session.Project != projectID || session.Principal != principal.ID() {
		f := fault.New(fault.KindNotFound, fault.CodeNotFound, "this session has ended: initialize again")
		f.Restart = true
		return Session{}, f
	}
	return session, nil
}
