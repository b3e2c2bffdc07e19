// Package delivery delivers events to their destinations: at least once, and in
// order for each destination.
package delivery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/secrets"
)

// Limits of an attempt.
const (
	attemptTimeout = 15 * time.Second // until the whole response was received
	maxReply       = 500              // characters of a response that are stored
	maxRead        = 4 << 10          // bytes of a response that are read
	maxBatch       = 100              // events of a request, for kinds that take several
	maxBatchBytes  = 1 << 20          // of their data
)

// Reply is the outcome of an attempt. Err is nil for a delivery. Status is that of
// the response, or 0 without one, and Text its start or the reason of the failure.
type Reply struct {
	Status int
	Text   string
	Err    error
	Took   time.Duration
}

// Sender sends events to destinations.
type Sender struct {
	client  *http.Client
	keys    destinations.Sealer
	public  string // URL of the gateway, without a slash at its end
	version string
	now     func() time.Time
	timeout time.Duration // of an attempt
}

// NewSender returns a sender. client must not follow redirects. public is the
// URL of the gateway, for links.
func NewSender(client *http.Client, keys destinations.Sealer, public, version string, now func() time.Time) *Sender {
	return &Sender{client: client, keys: keys, public: strings.TrimSuffix(public, "/"), version: version, now: now, timeout: attemptTimeout}
}

// batch returns the maximum number of events of a request.
func batch(kind models.DestinationKind) int {
	if kind == models.DestinationOTLP || kind == models.DestinationFile {
		return maxBatch
	}
	return 1
}

// Send sends events once, as many as the kind takes, and returns the outcome. Only a
// response with a status from 200 to 299 is a delivery. Redirects are not followed.
func (s *Sender) Send(ctx context.Context, to *models.Destination, events []models.OutboxEvent) Reply {
	began := time.Now()
	reply := s.attempt(ctx, to, events)
	reply.Took = time.Since(began)
	if reply.Err != nil && reply.Text == "" {
		reply.Text = reason(reply.Err)
	}
	reply.Text = clean(reply.Text)
	return reply
}

func (s *Sender) attempt(ctx context.Context, to *models.Destination, events []models.OutboxEvent) Reply {
	if to.Kind == models.DestinationFile {
		return appendLines(to.Address, events)
	}
	address, err := s.keys.Open(to.Address, destinations.AddressRow(to.ID))
	if err != nil {
		return Reply{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body, header, err := s.body(to, events)
	if err != nil {
		return Reply{Err: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.Reveal(), bytes.NewReader(body))
	if err != nil {
		return Reply{Err: errors.New("the address is invalid")} // without the address, which can have credentials
	}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "mcpgateway/"+s.version)
	request.Header = header
	return s.do(request)
}

// body returns the body and the own headers of a request.
func (s *Sender) body(to *models.Destination, events []models.OutboxEvent) ([]byte, http.Header, error) {
	secret, header := secrets.Value{}, http.Header{}
	if to.Secret != "" {
		opened, err := s.keys.Open(to.Secret, destinations.SecretRow(to.ID))
		if err != nil {
			return nil, nil, err
		}
		secret = opened
	}
	switch to.Kind {
	case models.DestinationWebhook:
		return s.webhook(to, &events[0], secret)
	case models.DestinationSlack:
		body, err := slackBody(s.line(&events[0]), s.link(&events[0]))
		return body, header, err
	case models.DestinationOTLP:
		if name, value, ok := destinations.Header(secret); ok {
			header.Set(name, value)
		}
		body, err := s.logs(events)
		return body, header, err
	}
	return nil, nil, fmt.Errorf("unknown kind of destination %q", to.Kind)
}

func (s *Sender) do(request *http.Request) Reply {
	response, err := s.client.Do(request)
	if err != nil {
		return Reply{Err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRead))
	reply := Reply{Status: response.StatusCode, Text: string(text)}
	switch {
	case reply.Status >= 300 && reply.Status < 400:
		reply.Text = "redirect, which is not followed: enter the final address"
		reply.Err = errors.New(reply.Text)
	case reply.Status < 200 || reply.Status >= 300:
		reply.Err = fmt.Errorf("status %d", reply.Status)
	case err != nil:
		reply.Err, reply.Text = err, ""
	}
	return reply
}

// reason returns the text of a failure without the address of the request, which
// can contain credentials.
func reason(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	var f *fault.Fault
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no complete response in time"
	case errors.As(err, &f):
		return f.AdminMessage()
	}
	return err.Error()
}

// clean returns a text that both databases can store: valid, printable, and with
// at most maxReply characters.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > maxReply {
		text = string([]rune(text)[:maxReply-1]) + "…"
	}
	return text
}
