// Package mail sends plain text messages to people through the operator's mail
// server. Connections are encrypted, except to a server on the same machine.
package mail

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Limits of messages.
const (
	// Timeout is the maximum time to connect to the mail server, and again for each
	// of its replies.
	Timeout = 10 * time.Second
	// MaxRecipients is the maximum number of messages of one connection.
	MaxRecipients = 50
	// MaxText is the maximum length of a message's text, in bytes.
	MaxText = 64 << 10

	maxSubject = 200 // bytes
	maxAddress = 320 // bytes
)

// ErrOff is the error of a message when no mail server is configured.
var ErrOff = errors.New("no mail server is configured; set GATEWAY_SMTP_URL")

// Message is a plain text message to one person.
type Message struct {
	To      string
	Subject string
	Text    string
}

// Dial opens a connection. Implemented by egress.Clients, which checks the
// address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Options configure a Mailer.
type Options struct {
	Server Server
	Dial   Dial
	Roots  *x509.CertPool // nil means those of the system
	Name   string         // host of this gateway, for the greeting and message IDs
	Now    func() time.Time
	Log    *slog.Logger
}

// Mailer sends messages. It is safe for concurrent use.
type Mailer struct {
	Options
	sent, failed atomic.Int64
}

// New returns the Mailer of a server, which may be zero.
func New(o Options) *Mailer { return &Mailer{Options: o} }

// On reports whether a mail server is configured.
func (m *Mailer) On() bool { return !m.Server.IsZero() }

// From returns the sender's address, or "" without a mail server.
func (m *Mailer) From() string { return m.Server.From }

// Sent returns the numbers of messages that the mail server accepted and of those
// that could not be sent, since the start.
func (m *Mailer) Sent() (sent, failed int64) { return m.sent.Load(), m.failed.Load() }

// Send sends messages over one connection and returns the number that the server
// accepted. A rejected message doesn't stop the others. It returns ErrOff without
// a mail server; Reason describes other errors.
func (m *Mailer) Send(ctx context.Context, messages ...Message) (int, error) {
	if !m.On() {
		return 0, ErrOff
	}
	if len(messages) > MaxRecipients {
		return 0, fmt.Errorf("%d messages exceed the limit of %d", len(messages), MaxRecipients)
	}
	accepted, err := m.send(ctx, messages)
	m.sent.Add(int64(accepted))
	m.failed.Add(int64(len(messages) - accepted))
	if err != nil {
		m.Log.Warn("mail not sent", "messages", len(messages)-accepted, "error", Reason(err))
	}
	return accepted, err
}

func (m *Mailer) send(ctx context.Context, messages []Message) (accepted int, err error) {
	var ready []*gomail.Msg
	var problems []error
	for _, message := range messages {
		built, err := m.build(message)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		ready = append(ready, built)
	}
	if len(ready) == 0 {
		return 0, errors.Join(problems...)
	}
	client, err := m.client()
	if err != nil {
		return 0, err
	}
	err = client.DialAndSendWithContext(ctx, ready...)
	for _, message := range ready {
		if message.IsDelivered() {
			accepted++
		}
	}
	if accepted == len(messages) {
		return accepted, nil // an error while closing the connection is irrelevant
	}
	return accepted, errors.Join(append(problems, err)...)
}

// build returns a message for the library. It rejects text that could add
// headers or recipients.
func (m *Mailer) build(message Message) (*gomail.Msg, error) {
	switch {
	case !IsAddress(message.To):
		return nil, errors.New("the recipient is not an email address")
	case message.Subject == "" || len(message.Subject) > maxSubject || hasControls(message.Subject):
		return nil, errors.New("the subject is invalid")
	case len(message.Text) > MaxText:
		return nil, errors.New("the text is too long")
	}
	built := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(built.From(m.Server.From), built.To(message.To)); err != nil {
		return nil, err
	}
	built.Subject(message.Subject)
	built.SetDateWithValue(m.Now())
	built.SetMessageIDWithValue(rand.Text() + "@" + m.Name)
	built.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no replies by machines
	built.SetBodyString(gomail.TypeTextPlain, message.Text)
	return built, nil
}

// client returns the library's client for one connection.
func (m *Mailer) client() (*gomail.Client, error) {
	s := m.Server
	options := []gomail.Option{
		gomail.WithPort(s.Port), gomail.WithTimeout(Timeout), gomail.WithHELO(m.Name), gomail.WithoutNoop(),
		gomail.WithTLSConfig(m.tls()), gomail.WithTLSPolicy(gomail.TLSMandatory), gomail.WithDialContextFunc(m.dial),
	}
	if s.Implicit || s.loopback() {
		// With implicit TLS the connection is encrypted before the library has it.
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	}
	if s.User != "" {
		options = append(options, gomail.WithUsername(s.User), gomail.WithPassword(s.Password.Reveal()), gomail.WithSMTPAuth(m.mechanism()))
	}
	return gomail.NewClient(s.Host, options...)
}

// mechanism returns how the gateway signs in: on this machine also without
// encryption.
func (m *Mailer) mechanism() gomail.SMTPAuthType {
	if m.Server.loopback() && !m.Server.Implicit {
		return gomail.SMTPAuthPlainNoEnc
	}
	return gomail.SMTPAuthAutoDiscover
}

func (m *Mailer) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: m.Server.Host, RootCAs: m.Roots,
		// A local relay usually has a certificate that it signed itself. Cleartext is
		// allowed there too, and dial has verified that it is local.
		InsecureSkipVerify: m.Server.loopback() && !m.Server.Implicit, // #nosec G402
	}
}

// dial opens the connection, with TLS if it is implicit. A server whose name is
// that of this machine must have a loopback address.
func (m *Mailer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := m.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if m.Server.loopback() && !isLoopback(conn.RemoteAddr()) {
		return nil, errors.Join(errors.New("the mail server's address is not on this machine"), conn.Close())
	}
	if !m.Server.Implicit {
		return conn, nil
	}
	secure := tls.Client(conn, m.tls())
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

func isLoopback(addr net.Addr) bool {
	to, err := netip.ParseAddrPort(addr.String())
	return err == nil && to.Addr().Unmap().IsLoopback()
}
