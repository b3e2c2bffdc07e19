package access

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/activity"
)

// User is a user of the administration, enabled or disabled.
type User struct {
	ID            string
	Email         string // may be empty for a user of the identity provider
	Name          string
	Role          models.Role // the user's own
	EffectiveRole models.Role // the highest of Role and the roles of the user's groups
	HasPassword   bool        // can sign in with a password
	HasIdentity   bool        // is linked to an identity of the provider
	GroupsOverage bool        // the provider left the groups out at the last sign-in
	DisabledAt    *time.Time  // nil if the user may sign in
	CreatedAt     time.Time
	LastLoginAt   *time.Time
}

// Called returns the email address, or the name of a user without one.
func (u User) Called() string { return cmp.Or(u.Email, u.Name) }

// personOf returns the user of a row, with the roles of the groups in view.
func (p *Users) personOf(u *models.User, view groups.View) User {
	return User{
		ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, EffectiveRole: view.Role(u.ID, u.Role, p.now()),
		HasPassword: u.PasswordHash != "", HasIdentity: u.OIDCSubject != "", GroupsOverage: u.GroupsOverage,
		DisabledAt: u.DisabledAt, CreatedAt: u.CreatedAt, LastLoginAt: u.LastLoginAt,
	}
}

// person returns the user of a row with the roles of the stored groups.
func (p *Users) person(tx *gorm.DB, u *models.User) (User, error) {
	view, err := p.groups.LoadUser(tx.Statement.Context, tx, u.ID)
	return p.personOf(u, view), err
}

func (p *Users) personsOf(ctx context.Context, rows []models.User) ([]User, error) {
	view, err := p.groups.Load(ctx, p.db)
	if err != nil {
		return nil, err
	}
	out := make([]User, len(rows))
	for i := range rows {
		out[i] = p.personOf(&rows[i], view)
	}
	return out, nil
}

// actingAs returns the transaction with the user as its actor, for users who
// authenticate in it.
func actingAs(tx *gorm.DB, user *models.User, ip string) *gorm.DB {
	ctx := asUser(tx.Statement.Context, user)
	if ip != "" {
		actor := activity.ActorOf(ctx)
		actor.IP = ip
		ctx = activity.WithActor(ctx, actor)
	}
	return tx.WithContext(ctx)
}

// asUser returns a context with the user as its actor.
func asUser(ctx context.Context, user *models.User) context.Context {
	actor := activity.ActorOf(ctx)
	actor.Kind, actor.ID, actor.Name = activity.ActorUser, user.ID, cmp.Or(user.Email, user.Name)
	return activity.WithActor(ctx, actor)
}

// entry returns an audit entry about a user. more alternates names and values
// of its detail.
func entry(action string, u *models.User, more ...string) activity.Entry {
	detail := map[string]string{}
	for i := 0; i+1 < len(more); i += 2 {
		detail[more[i]] = more[i+1]
	}
	return activity.Entry{Action: action, Object: cmp.Or(u.Email, u.Name), ObjectID: u.ID, Detail: detail}
}

func note(fields map[string]string, field, problem string) {
	if problem != "" {
		fields[field] = problem
	}
}

// foldEmail returns the form in which email addresses are compared.
func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// emailProblem returns the reason an email address is invalid, or "". It
// accepts only ASCII, so that no two addresses look alike.
func emailProblem(email string) string {
	local, domain, ok := cutLast(email, "@")
	switch {
	case email == "":
		return "Enter an email address."
	case len(email) > MaxEmail:
		return "This email address is too long."
	case !ok || local == "" || domain == "" || strings.ContainsFunc(email, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`<>()[],;:\"`, r) }):
		return "Use an email address such as name@example.com."
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// nameProblem returns the reason a user's name is invalid, or "".
func nameProblem(name string) string {
	if utf8.RuneCountInString(name) > MaxUserName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return "Use at most 100 printable characters."
	}
	return ""
}
