package mail_test

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/certificates/certificatestest"
	"mcpgateway/services/egress"
	"mcpgateway/services/mail"
	"mcpgateway/services/secrets"
)

const password = "the mail server's secret"

var discard = slog.New(slog.DiscardHandler)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// to returns the Mailer of a server with the host, whose connections lead to s.
func (s *mailServer) to(server mail.Server, roots *x509.CertPool) *mail.Mailer {
	server.From, server.Port = "Gateway <gateway@example.com>", 587
	return mail.New(mail.Options{Server: server, Dial: s.dial, Roots: roots, Name: "gateway.example.com", Now: func() time.Time { return noon }, Log: discard})
}

func hello(to string) mail.Message {
	return mail.Message{To: to, Subject: "Grüße from Gateway", Text: "First line.\n.\nLine after a dot: ü.\n"}
}

func TestMessagesArrive(t *testing.T) {
	authority := certificatestest.New(t)
	certificate, key := authority.Issue(t, "mail.example.com")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority.PEM))
	tls := []string{"CERT=" + certificate, "KEY=" + key}
	signIn := []string{"MAIL_USER=gateway", "MAIL_PASSWORD=" + password}
	for name, tt := range map[string]struct {
		settings []string
		server   mail.Server
		secure   bool
	}{
		"STARTTLS":                      {slices.Concat(tls, signIn), mail.Server{Host: "mail.example.com", User: "gateway", Password: secrets.NewValue(password)}, true},
		"implicit TLS":                  {slices.Concat(tls, signIn, []string{"IMPLICIT=1"}), mail.Server{Host: "mail.example.com", Implicit: true, User: "gateway", Password: secrets.NewValue(password)}, true},
		"loopback without TLS":          {nil, mail.Server{Host: "127.0.0.1"}, false},
		"loopback sign-in without TLS":  {signIn, mail.Server{Host: "localhost", User: "gateway", Password: secrets.NewValue(password)}, false},
		"loopback with any certificate": {tls, mail.Server{Host: "localhost"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, tt.settings...)
			m := s.to(tt.server, roots)
			if n, err := m.Send(t.Context(), hello("ada@example.com"), hello("Bob <bob@example.com>")); n != 2 || err != nil {
				t.Fatalf("Send() = %d, %v", n, err)
			}
			for _, to := range []string{"ada@example.com", "bob@example.com"} {
				got := s.next(t)
				if got.From != "gateway@example.com" || !slices.Equal(got.To, []string{to}) || got.Secure != tt.secure || got.User != tt.server.User {
					t.Errorf("message = %+v", got)
				}
				for _, part := range []string{"@gateway.example.com>", "Auto-Submitted: auto-generated", "Date: Sun, 01 Mar 2026 12:00:00 +0000", "Subject: =?UTF-8?q?Gr=C3=BC=C3=9Fe_from_Gateway?=", "\r\n.\r\nLine after a dot: =C3=BC."} {
					if !strings.Contains(got.Raw, part) {
						t.Errorf("message lacks %q:\n%s", part, got.Raw)
					}
				}
			}
			if sent, failed := m.Sent(); sent != 2 || failed != 0 {
				t.Errorf("Sent() = %d, %d", sent, failed)
			}
		})
	}
}

func TestUnsafeServersAreRefused(t *testing.T) {
	authority := certificatestest.New(t)
	certificate, key := authority.Issue(t, "other.example.com")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority.PEM))
	tls := []string{"CERT=" + certificate, "KEY=" + key}
	for name, tt := range map[string]struct {
		settings []string
		server   mail.Server
		roots    *x509.CertPool
		reason   string
	}{
		"no STARTTLS":           {nil, mail.Server{Host: "mail.example.com"}, roots, "doesn't offer STARTTLS"},
		"other name":            {tls, mail.Server{Host: "mail.example.com"}, roots, "certificate isn't trusted"},
		"other authority":       {tls, mail.Server{Host: "other.example.com"}, x509.NewCertPool(), "certificate isn't trusted"},
		"implicit, other name":  {append(tls, "IMPLICIT=1"), mail.Server{Host: "mail.example.com", Implicit: true}, roots, "certificate isn't trusted"},
		"wrong password":        {append(tls, "MAIL_USER=gateway", "MAIL_PASSWORD=x"), mail.Server{Host: "other.example.com", User: "gateway", Password: secrets.NewValue(password)}, roots, "answered 535"},
		"sign-in not supported": {tls, mail.Server{Host: "other.example.com", User: "gateway", Password: secrets.NewValue(password)}, roots, "does not support SMTP AUTH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, tt.settings...)
			m := s.to(tt.server, tt.roots)
			n, err := m.Send(t.Context(), hello("ada@example.com"))
			if n != 0 || err == nil {
				t.Fatalf("Send() = %d, %v", n, err)
			}
			if got := mail.Reason(err); !strings.Contains(got, tt.reason) || strings.Contains(got, password) {
				t.Errorf("Reason() = %q, want %q", got, tt.reason)
			}
			if _, failed := m.Sent(); failed != 1 {
				t.Errorf("failed = %d, want 1", failed)
			}
			if len(s.messages) > 0 {
				t.Errorf("the server received %+v", <-s.messages)
			}
		})
	}
}

func TestRejectedRecipientStopsNoOther(t *testing.T) {
	s := startMailServer(t, "REJECT=gone@example.com")
	m := s.to(mail.Server{Host: "localhost"}, nil)
	n, err := m.Send(t.Context(), hello("gone@example.com"), hello("ada@example.com"))
	if n != 1 || err == nil || !strings.Contains(mail.Reason(err), "550") {
		t.Fatalf("Send() = %d, %v", n, err)
	}
	if got := s.next(t); !slices.Equal(got.To, []string{"ada@example.com"}) {
		t.Errorf("message = %+v", got)
	}
}

func TestHeadersCannotBeInjected(t *testing.T) {
	s := startMailServer(t)
	m := s.to(mail.Server{Host: "localhost"}, nil)
	for name, message := range map[string]mail.Message{
		"recipient":   {To: "ada@example.com\r\nBcc: eve@evil.org", Subject: "Hello", Text: "x"},
		"two":         {To: "ada@example.com, eve@evil.org", Subject: "Hello", Text: "x"},
		"subject":     {To: "ada@example.com", Subject: "Hello\r\nBcc: eve@evil.org", Text: "x"},
		"line feed":   {To: "ada@example.com", Subject: "Hello\nBcc: eve@evil.org", Text: "x"},
		"no subject":  {To: "ada@example.com", Text: "x"},
		"not ASCII":   {To: "ada@exämple.com", Subject: "Hello", Text: "x"},
		"long text":   {To: "ada@example.com", Subject: "Hello", Text: strings.Repeat("x", mail.MaxText+1)},
		"no address":  {To: "ada", Subject: "Hello", Text: "x"},
		"no receiver": {Subject: "Hello", Text: "x"},
	} {
		if n, err := m.Send(t.Context(), message); n != 0 || err == nil {
			t.Errorf("%s: Send() = %d, %v", name, n, err)
		}
	}
	end := "\r\n.\r\nMAIL FROM:<eve@evil.org>\r\n"
	if n, err := m.Send(t.Context(), mail.Message{To: "ada@example.com", Subject: "Hello", Text: end + strings.Repeat("x", mail.MaxText-len(end))}); n != 1 || err != nil {
		t.Fatalf("longest text: %d, %v", n, err)
	}
	if got := s.next(t); got.From != "gateway@example.com" || len(s.messages) != 0 {
		t.Errorf("message = %+v", got)
	}
}

func TestRecipientLimit(t *testing.T) {
	s := startMailServer(t)
	m := s.to(mail.Server{Host: "localhost"}, nil)
	for _, n := range []int{mail.MaxRecipients - 1, mail.MaxRecipients, mail.MaxRecipients + 1} {
		accepted, err := m.Send(t.Context(), slices.Repeat([]mail.Message{hello("ada@example.com")}, n)...)
		if fits := n <= mail.MaxRecipients; fits != (err == nil) || fits && accepted != n || !fits && accepted != 0 {
			t.Errorf("%d messages: %d, %v", n, accepted, err)
		}
		for range accepted {
			s.next(t)
		}
	}
}

func TestAddressesAreGuarded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	clients := egress.NewClients(egress.NewGuard(nil))
	defer clients.Close()
	server := mail.Server{Host: "127.0.0.1", Port: port, From: "gateway@example.com"}
	_, err = mail.New(mail.Options{Server: server, Dial: clients.DialMail, Name: "gateway.example.com", Now: time.Now, Log: discard}).Send(t.Context(), hello("ada@example.com"))
	if got := mail.Reason(err); !strings.Contains(got, "GATEWAY_EGRESS_ALLOW") {
		t.Errorf("Reason() = %q", got)
	}
	// A name of this machine that leads elsewhere gets no cleartext.
	elsewhere := func(context.Context, string, string) (net.Conn, error) { return remoteConn{}, nil }
	_, err = mail.New(mail.Options{Server: mail.Server{Host: "localhost", Port: 25, From: "g@example.com"}, Dial: elsewhere, Name: "gateway.example.com", Now: time.Now, Log: discard}).Send(t.Context(), hello("ada@example.com"))
	if got := mail.Reason(err); !strings.Contains(got, "not on this machine") {
		t.Errorf("Reason() = %q", got)
	}
}

// remoteConn is a connection to another machine.
type remoteConn struct{ net.Conn }

func (remoteConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:25"))
}
func (remoteConn) Close() error { return nil }

func TestWithoutServer(t *testing.T) {
	m := mail.New(mail.Options{Now: time.Now, Log: discard})
	n, err := m.Send(t.Context(), hello("ada@example.com"))
	if m.On() || n != 0 || !strings.Contains(mail.Reason(err), "GATEWAY_SMTP_URL") {
		t.Errorf("Send() = %d, %v", n, err)
	}
}
