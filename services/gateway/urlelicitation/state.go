package urlelicitation

import (
	"encoding/json"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

const (
	// StateLifetime is the time for which a call can be continued.
	StateLifetime = 15 * time.Minute
	// MaxQuestions is the maximum number of questions in one call.
	MaxQuestions = 8
	// WaitTime is the maximum time for which a continued call waits for the
	// completion of its elicitations.
	WaitTime = 60 * time.Second
)

// statePurpose distinguishes the states from other sealed tokens.
const statePurpose = "url elicitation"

// Call identifies a request of a client. Its state continues no other.
type Call struct {
	Project   string `json:"p"`
	Principal string `json:"c"`
	Server    string `json:"s"`
	Method    string `json:"m"`
	Name      string `json:"n"`
	Forwarded string `json:"f,omitempty"` // keyed hash of the forwarded headers
}

// State continues a call after its client opened the URLs. It is sealed, because
// the client, which returns it, is not trusted. Every process accepts it.
type State struct {
	Call      Call     `json:"o"`
	Names     []string `json:"i"` // of the input requests
	IDs       []string `json:"e"` // of the elicitations that can complete
	Questions int      `json:"a"` // so far
	Expires   int64    `json:"x"` // Unix seconds
}

// Seal returns the state as a token.
func (s *State) Seal(tokens *secrets.KeyRing, now time.Time) (string, error) {
	s.Expires = now.Add(StateLifetime).Unix()
	plain, err := json.Marshal(s)
	if err != nil {
		return "", fault.Internal(err)
	}
	return tokens.SealToken(statePurpose, plain), nil
}

// Open returns the state in a token, or nil for another token. It returns
// INVALID_PARAMETER for an expired state and that of another call.
func Open(tokens *secrets.KeyRing, token string, of Call, now time.Time) (*State, error) {
	plain, notOurs := tokens.OpenToken(statePurpose, token)
	if notOurs != nil {
		return nil, nil //nolint:nilerr // the state of a server is not an error
	}
	s := &State{}
	if json.Unmarshal(plain, s) != nil || s.Call != of {
		return nil, fault.Invalid("requestState belongs to another call. Send the one of this call's result.")
	}
	if now.Unix() >= s.Expires {
		return nil, fault.Invalid("requestState has expired. Send the request again without requestState.")
	}
	return s, nil
}
