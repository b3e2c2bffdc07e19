package alerts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/mail"
)

// Limits of mail about alerts.
const (
	// MailAge is the maximum time for which the mail about a resolved alert is tried.
	MailAge = 24 * time.Hour

	firstRetry = time.Minute
	lastRetry  = 30 * time.Minute
	maxMailed  = 50 // alerts in one message
)

// Mailer sends messages. Implemented by mail.Mailer.
type Mailer interface {
	On() bool
	Send(ctx context.Context, messages ...mail.Message) (int, error)
}

// Announcer sends mail about alerts. Each state is sent at least once to the
// recipients together; a process that dies between the mail server's reply and its
// own commit repeats it.
type Announcer struct {
	store      *Store
	mail       Mailer
	recipients func(ctx context.Context) ([]string, error)
	page       string // address of the page with the alerts

	wait    time.Duration // after a failure
	retryAt time.Time
}

// NewAnnouncer returns an Announcer to the addresses that recipients returns.
func NewAnnouncer(store *Store, mail Mailer, recipients func(ctx context.Context) ([]string, error), page string) *Announcer {
	return &Announcer{store: store, mail: mail, recipients: recipients, page: page}
}

// Announce sends one message about all alerts that fired or were resolved since the
// last one. It retries later if the mail server accepts none. Without a mail
// server, the alerts count as sent, so that setting one up sends no old ones.
func (n *Announcer) Announce(ctx context.Context) error {
	now := n.store.now()
	if now.Before(n.retryAt) {
		return nil
	}
	due, err := n.store.list(n.store.db.WithContext(ctx).
		Where("(state = ? AND mailed = '') OR (state = ? AND mailed <> ? AND resolved_at > ?)", models.AlertFiring, models.AlertResolved, models.AlertResolved, now.Add(-MailAge)).
		Order("id").Limit(maxMailed))
	if err != nil || len(due) == 0 {
		return err
	}
	if n.mail.On() {
		if err := n.send(ctx, due); err != nil {
			n.wait = min(max(firstRetry, 2*n.wait), lastRetry)
			n.retryAt = now.Add(n.wait)
			return nil //nolint:nilerr // the mailer has logged it, and it is sent again
		}
	}
	n.wait, n.retryAt = 0, time.Time{}
	for _, state := range []models.AlertState{models.AlertFiring, models.AlertResolved} {
		var ids []string
		for _, a := range due {
			if a.State == state {
				ids = append(ids, a.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := n.store.db.WithContext(ctx).Model(&models.Alert{}).Where("id IN ?", ids).Update("mailed", state).Error; err != nil {
			return fault.Internal(err)
		}
	}
	return nil
}

// send sends the message and fails if nobody receives it. // language:ignore
func (n *Announcer) send(ctx context.Context, due []models.Alert) error {
	recipients, err := n.recipients(ctx)
	if err != nil || len(recipients) == 0 {
		return err
	}
	messages := make([]mail.Message, 0, len(recipients))
	subject, text := n.compose(due)
	for _, to := range recipients[:min(len(recipients), mail.MaxRecipients)] {
		messages = append(messages, mail.Message{To: to, Subject: subject, Text: text})
	}
	accepted, err := n.mail.Send(ctx, messages...)
	if accepted > 0 {
		return nil // an address that is always rejected must not repeat the others
	}
	return err
}

// compose returns the subject and the text about alerts.
func (n *Announcer) compose(due []models.Alert) (subject, text string) {
	var body strings.Builder
	counts := map[models.AlertState]int{}
	for _, group := range []struct {
		state models.AlertState
		title string
	}{{models.AlertFiring, "Firing"}, {models.AlertResolved, "Resolved"}} {
		for _, a := range due {
			if a.State != group.state {
				continue
			}
			if counts[a.State]++; counts[a.State] == 1 {
				body.WriteString(group.title + ":\n\n")
			}
			body.WriteString(line(&a))
		}
	}
	fmt.Fprintf(&body, "All alerts: %s\n", n.page)
	if len(due) == 1 {
		a := due[0]
		return "[Gateway] " + oneLine(fmt.Sprintf("%s: %s %s", map[bool]string{true: "Firing", false: "Resolved"}[a.State == models.AlertFiring], Title(a.Rule), a.Object)), body.String()
	}
	return fmt.Sprintf("[Gateway] %d alerts firing, %d resolved", counts[models.AlertFiring], counts[models.AlertResolved]), body.String()
}

// line describes an alert.
func line(a *models.Alert) string {
	text := "- " + Title(a.Rule)
	if a.Object != "" {
		text += ": " + oneLine(a.Object)
	}
	if a.Project != "" {
		text += " (project " + oneLine(a.Project) + ")"
	}
	text += "\n  " + oneLine(a.Detail) + "\n  Since " + a.Since.UTC().Format("2006-01-02 15:04 MST")
	if a.ResolvedAt != nil {
		text += ", resolved " + a.ResolvedAt.UTC().Format("2006-01-02 15:04 MST")
	}
	return text + "\n\n"
}

// maxLine is the maximum length of a name in a message, in characters.
const maxLine = 120

// oneLine returns a text without line breaks and control characters.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' }), " ")
	if runes := []rune(text); len(runes) > maxLine {
		return string(runes[:maxLine]) + "…"
	}
	return text
}
