package doctor

import (
	"encoding/base64"
	"encoding/json"
	"time"
)

// Headers of the doctor's requests and of the responses to those that were refused.
const (
	Header     = "Gateway-Doctor"
	HeaderSeen = "Gateway-Doctor-Seen"
)

const (
	probePurpose = "client doctor"
	probeLife    = 2 * time.Minute
	maxForwarded = 20 // values in a Seen
	maxValue     = 200
)

// Sealer seals tokens that only this gateway can open. Implemented by
// secrets.KeyRing.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Probes mark the doctor's own requests, so that every replica recognizes them and
// describes only to the doctor how they arrived.
type Probes struct {
	sealer Sealer
	now    func() time.Time
}

// NewProbes returns the Probes of a gateway.
func NewProbes(sealer Sealer, now func() time.Time) *Probes { return &Probes{sealer: sealer, now: now} }

type probe struct {
	Project string `json:"p"`
	Expires int64  `json:"e"` // Unix milliseconds
}

// mark returns the value of Header for requests to a project.
func (p *Probes) mark(projectID string) string {
	plain, err := json.Marshal(probe{projectID, p.now().Add(probeLife).UnixMilli()})
	if err != nil {
		return "" // unreachable: a text and a number can always be encoded
	}
	return p.sealer.SealToken(probePurpose, plain)
}

// Opens reports whether the value of Header marks a request of the doctor to the
// project.
func (p *Probes) Opens(token, projectID string) bool {
	plain, err := p.sealer.OpenToken(probePurpose, token)
	var opened probe
	return err == nil && json.Unmarshal(plain, &opened) == nil && opened.Project == projectID && p.now().UnixMilli() < opened.Expires
}

// Seen describes how a request arrived at the gateway.
type Seen struct {
	Host          string            `json:"host"`
	HostAllowed   bool              `json:"hostAllowed"`
	Origin        string            `json:"origin"`
	OriginAllowed bool              `json:"originAllowed"`
	Authorization bool              `json:"authorization"` // the header was present
	Peer          string            `json:"peer"`
	Client        string            `json:"client"`
	Trusted       bool              `json:"trusted"` // the peer is a trusted proxy
	Forwarded     []ForwardedHeader `json:"forwarded"`
	At            int64             `json:"at"` // Unix milliseconds of the gateway's clock
}

// ForwardedHeader is a header that proxies add.
type ForwardedHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// values returns the values of a header.
func (s *Seen) values(name string) (values []string) {
	for _, h := range s.Forwarded {
		if h.Name == name {
			values = append(values, h.Value)
		}
	}
	return values
}

// Seen returns the value of HeaderSeen.
func (p *Probes) Seen(s Seen) string {
	s.At = p.now().UnixMilli()
	s.Host, s.Origin = s.Host[:min(len(s.Host), maxValue)], s.Origin[:min(len(s.Origin), maxValue)]
	s.Forwarded = s.Forwarded[:min(len(s.Forwarded), maxForwarded)]
	for i := range s.Forwarded {
		s.Forwarded[i].Value = s.Forwarded[i].Value[:min(len(s.Forwarded[i].Value), maxValue)]
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return "" // unreachable: texts, numbers and booleans can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(plain)
}

// seenOf returns the description in a response.
func seenOf(header string) (s Seen, ok bool) {
	plain, err := base64.RawURLEncoding.DecodeString(header)
	return s, header != "" && err == nil && json.Unmarshal(plain, &s) == nil
}
