// Package invitations creates the links with which people set their passwords, for
// administrators to copy or to send by mail. Administrators never enter another
// person's password.
package invitations

import (
	"context"
	"fmt"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/mail"
	"mcpgateway/services/secrets"
)

// Users create the links. Implemented by access.Users.
type Users interface {
	Get(ctx context.Context, id string) (access.User, error)
	Invite(ctx context.Context, n access.NewUser) (access.User, access.Link, error)
	RenewInvite(ctx context.Context, id string) (access.Link, error)
	CreateReset(ctx context.Context, id string) (access.User, access.Link, error)
}

// Mailer sends messages. Implemented by mail.Mailer.
type Mailer interface {
	On() bool
	Send(ctx context.Context, messages ...mail.Message) (int, error)
}

// Options configure Links.
type Options struct {
	Users Users
	Mail  Mailer
	// Invite and Reset return the addresses of links with a token.
	Invite, Reset func(token string) string
}

// Links creates links. It is safe for concurrent use.
type Links struct{ Options }

// New returns the Links.
func New(o Options) *Links { return &Links{o} }

// Created is a link that was created. URL can't be read again.
type Created struct {
	User      access.User
	Token     secrets.Value // of the link
	URL       secrets.Value
	ExpiresAt time.Time
	Mailed    bool
	Problem   string // why the message was not sent, as a clause; empty if none was requested
}

// MailOn reports whether links can be sent.
func (l *Links) MailOn() bool { return l.Mail.On() }

// Invite adds a user without a password and creates an invite link. It returns the
// faults of access.Users.Invite. If the message can't be sent, Problem has the reason.
func (l *Links) Invite(ctx context.Context, n access.NewUser, send bool) (Created, error) {
	user, link, err := l.Users.Invite(ctx, n)
	if err != nil {
		return Created{}, err
	}
	return l.invited(ctx, user, link, send), nil
}

// Renew replaces the invite link of a user who has not joined. It returns the
// faults of access.Users.RenewInvite.
func (l *Links) Renew(ctx context.Context, id string, send bool) (Created, error) {
	user, err := l.Users.Get(ctx, id)
	if err != nil {
		return Created{}, err
	}
	link, err := l.Users.RenewInvite(ctx, id)
	if err != nil {
		return Created{}, err
	}
	return l.invited(ctx, user, link, send), nil
}

func (l *Links) invited(ctx context.Context, user access.User, link access.Link, send bool) Created {
	c := Created{User: user, Token: link.Token, URL: secrets.NewValue(l.Options.Invite(link.Token.Reveal())), ExpiresAt: link.ExpiresAt}
	if send {
		l.send(ctx, &c, "You're invited to Gateway", fmt.Sprintf(inviteText, user.Email, c.URL.Reveal(), lifetime(access.InviteLifetime)))
	}
	return c
}

// Reset creates a link with which a user replaces their password. It returns the
// faults of access.Users.CreateReset. If the message can't be sent, Problem has the reason.
func (l *Links) Reset(ctx context.Context, id string, send bool) (Created, error) {
	user, link, err := l.Users.CreateReset(ctx, id)
	if err != nil {
		return Created{}, err
	}
	c := Created{User: user, Token: link.Token, URL: secrets.NewValue(l.Options.Reset(link.Token.Reveal())), ExpiresAt: link.ExpiresAt}
	if send {
		l.send(ctx, &c, "Reset your Gateway password", fmt.Sprintf(resetText, user.Called(), c.URL.Reveal(), lifetime(access.ResetLifetime)))
	}
	return c, nil
}

const (
	inviteText = `An administrator invited you to Gateway as %s.

Join with this link:

%s

It works once, for %s. If you didn't expect this invitation, ignore this message.
`
	resetText = `An administrator created a link to reset the Gateway password of %s.

Choose a new password:

%s

It works once, for %s, and signs you out everywhere. If you didn't ask for it,
tell your administrator; your password hasn't changed.
`
)

// lifetime returns a duration in whole hours.
func lifetime(d time.Duration) string {
	if d == time.Hour {
		return "1 hour"
	}
	return fmt.Sprintf("%d hours", int(d/time.Hour))
}

func (l *Links) send(ctx context.Context, c *Created, subject, text string) {
	_, err := l.Mail.Send(ctx, mail.Message{To: c.User.Email, Subject: subject, Text: text})
	if err == nil {
		c.Mailed = true
		return
	}
	c.Problem = mail.Reason(err)
	if c.User.Email == "" {
		c.Problem = "this person has no email address"
	}
}
