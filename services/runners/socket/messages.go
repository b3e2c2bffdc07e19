package socket

import (
	"encoding/json"
	"regexp"
)

// Where a gateway accepts connectors.
const (
	Path        = "/v1/connect"
	Subprotocol = "gateway-runner.v1"
)

// Hello is the first message of a gateway.
type Hello struct {
	Version  int      `json:"version"` // of the protocol of the byte stream
	Replica  string   `json:"replica"`
	Replicas []string `json:"replicas"` // the live ones
}

// Accept is the runner's response to Hello. A runner that is already connected
// to the replica closes the connection instead.
type Accept struct {
	Version int    `json:"version"`
	Prefix  string `json:"prefix,omitempty"` // of the aliases of new servers
}

// Notice is any later message of a gateway. Absent fields have not changed.
type Notice struct {
	Replicas []string `json:"replicas,omitempty"`
	// Refused are the reasons of entries that got no server, by name. Empty
	// means that all entries have one.
	Refused *map[string]string `json:"refused,omitempty"`
}

// Codes of a closed connection (RFC 6455, section 7.4.2, private use).
const (
	CodeRevoked  = 4001 // the token may not be used any more
	CodeReplaced = 4002 // a newer connection with the same token
	CodeRefused  = 4003 // the gateway can't use this runner
	CodeLeaving  = 1001 // the gateway stops
)

// maxText is the maximum size of a text message in bytes.
const maxText = 256 << 10

var prefixForm = regexp.MustCompile(`^(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,31})?$`)

// CheckPrefix returns the problem of a prefix of aliases, or "".
func CheckPrefix(prefix string) string {
	if !prefixForm.MatchString(prefix) {
		return "use at most 32 letters, digits, hyphens, dots or underscores, beginning with a letter or digit"
	}
	return ""
}

// SendText sends a message as JSON.
func (c *Conn) SendText(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.send(textMessage, text)
}
