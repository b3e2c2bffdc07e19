package mail

import (
	"errors"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpgateway/services/secrets"
)

// The default ports (RFC 8314, section 3.3; RFC 6409, section 3.1).
const (
	submissionPort  = 587
	submissionsPort = 465
)

// Server is a mail server and the sender of the messages. The zero value is none.
type Server struct {
	Host     string
	Port     int
	Implicit bool // TLS from the first byte; otherwise by STARTTLS
	User     string
	Password secrets.Value
	From     string // address, optionally with a name
}

// ParseServer returns the server of a URL such as
// smtp://user:password@mail.example.com:587?from=gateway@example.com. The error is
// a sentence about the URL that contains no part of it.
func ParseServer(raw string) (Server, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Opaque != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return Server{}, errors.New("use a URL such as smtp://user:password@mail.example.com:587?from=gateway@example.com")
	}
	s := Server{Host: u.Hostname(), Port: submissionPort, Implicit: u.Scheme == "smtps", User: u.User.Username()}
	if s.Implicit {
		s.Port = submissionsPort
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return Server{}, errors.New("use a port from 1 to 65535")
		}
		s.Port = int(n)
	}
	password, _ := u.User.Password()
	s.Password = secrets.NewValue(password)
	if (s.User == "") != s.Password.IsZero() {
		return Server{}, errors.New("give both the user and the password, or neither")
	}
	if hasControls(s.User) || hasControls(password) || hasControls(s.Host) {
		return Server{}, errors.New("use no control characters")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) != 1 || len(query["from"]) != 1 {
		return Server{}, errors.New("end it with the sender's address and no other parameter, such as ?from=gateway@example.com")
	}
	if s.From = query.Get("from"); !IsAddress(s.From) {
		return Server{}, errors.New("from must be an email address such as gateway@example.com; encode a + as %2B")
	}
	return s, nil
}

// IsZero reports whether no server is configured.
func (s Server) IsZero() bool { return s.Host == "" }

// loopback reports whether the server is on this machine.
func (s Server) loopback() bool {
	addr, err := netip.ParseAddr(s.Host)
	return s.Host == "localhost" || err == nil && addr.IsLoopback()
}

// IsAddress reports whether text is one email address in ASCII, optionally with a
// name.
func IsAddress(text string) bool {
	if hasControls(text) || len(text) > maxAddress || slices.ContainsFunc([]byte(text), func(b byte) bool { return b >= 0x7f }) {
		return false
	}
	parsed, err := mail.ParseAddress(text)
	return err == nil && strings.Contains(parsed.Address, "@")
}

// hasControls reports whether text contains a control character, which could
// start another header.
func hasControls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' })
}
