// Package trial sends test messages to administrators.
package trial

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/mail"
)

// Mailer sends messages. Implemented by mail.Mailer.
type Mailer interface {
	Send(ctx context.Context, messages ...mail.Message) (int, error)
}

// Auditor records an event in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Sender sends test messages.
type Sender struct {
	db    *gorm.DB
	mail  Mailer
	audit Auditor
	site  string // address of this gateway
}

// New returns a Sender.
func New(db *gorm.DB, mailer Mailer, audit Auditor, site string) *Sender {
	return &Sender{db: db, mail: mailer, audit: audit, site: site}
}

// Send sends a test message and records it. It returns UPSTREAM_UNAVAILABLE with
// the reason if the mail server doesn't accept it.
func (s *Sender) Send(ctx context.Context, to string) error {
	_, err := s.mail.Send(ctx, mail.Message{To: to, Subject: "Test message from Gateway", Text: "Mail from " + s.site + " works.\n"})
	entry := activity.Entry{Action: "mail.tested", Object: to, Detail: map[string]string{"result": "accepted"}}
	if err != nil {
		entry.Detail["result"] = mail.Reason(err)
	}
	if e := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return s.audit.Record(tx, entry) }); e != nil {
		return fault.From(e)
	}
	if err != nil {
		return fault.Upstream(fault.CodeUpstreamUnavailable, "The message wasn't sent: %s.", mail.Reason(err))
	}
	return nil
}
