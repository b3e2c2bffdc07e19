package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Identity is a user authenticated by the identity provider. Issuer and Subject
// identify the user permanently; an email address can be reassigned.
type Identity struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	AuthenticatedAt time.Time     // zero if the provider doesn't report it
	Groups          groups.Report // empty unless the challenge requested it
}

// Identities signs in the users of an identity provider.
type Identities struct {
	people  *Users
	groups  *groups.Store
	domains []string
	role    models.Role
}

// NewIdentities returns the Identities of the users. Users with a verified email
// address in one of the domains, in lower case, need no invitation and get the
// role.
func NewIdentities(people *Users, groups *groups.Store, domains []string, role models.Role) *Identities {
	return &Identities{people: people, groups: groups, domains: domains, role: role}
}

// Count counts an attempt to sign in. It returns RATE_LIMITED after too many.
func (s *Identities) Count(ctx context.Context, from Browser) error {
	_, err := s.people.attempts.Count(ctx, attempts.OfAddress(from.IP))
	return err
}

// Refused records a failed sign-in.
func (s *Identities) Refused(ctx context.Context, reason string, from Browser) error {
	return s.people.recordFailure(fromClient(ctx, from), &models.User{}, "single sign-on: "+reason)
}

// SignIn starts a session of the user of an identity, who was authenticated at
// proved, and ends the browser's previous one. It returns FORBIDDEN for a user
// who isn't invited or is disabled.
func (s *Identities) SignIn(ctx context.Context, identity Identity, proved time.Time, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	user, err := s.personFor(ctx, identity)
	if err != nil {
		return SignedIn{}, errors.Join(err, s.Refused(ctx, "not invited", from))
	}
	// Before the session starts, so that its first request has the new roles.
	if err := s.groups.Replace(asUser(ctx, &user), user.ID, identity.Groups); err != nil {
		return SignedIn{}, err
	}
	return s.people.startSession(ctx, user, from, proved, "single sign-on", func(tx *gorm.DB, row models.User) error {
		if row.OIDCIssuer != identity.Issuer || row.OIDCSubject != identity.Subject {
			return notInvited()
		}
		return attempts.Reset(tx, attempts.OfAddress(from.IP))
	})
}

// personFor returns the user of an identity: the linked one; otherwise the user
// invited with the verified email address who has neither a password nor an
// identity; otherwise, for an allowed domain or a reported group, a new user. It
// returns FORBIDDEN if none applies. Linking and creating are recorded.
func (s *Identities) personFor(ctx context.Context, identity Identity) (models.User, error) {
	user, err := s.resolve(ctx, identity)
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		// A concurrent sign-in of the same user created the row.
		user, err = s.resolve(ctx, identity)
	}
	if err != nil {
		return models.User{}, fault.From(err)
	}
	if user.DisabledAt != nil {
		return models.User{}, notInvited()
	}
	return user, nil
}

func (s *Identities) resolve(ctx context.Context, identity Identity) (models.User, error) {
	var user models.User
	db := s.people.db.WithContext(ctx)
	err := db.First(&user, "oidc_issuer = ? AND oidc_subject = ?", identity.Issuer, identity.Subject).Error
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return user, err
	}
	if !identity.EmailVerified || emailProblem(identity.Email) != "" {
		identity.Email = "" // identifies no user
		return s.admitMember(ctx, identity)
	}
	err = db.First(&user, "email_fold = ?", foldEmail(identity.Email)).Error
	switch {
	case err == nil && (user.DisabledAt != nil || linkable(&user)):
		return s.link(ctx, user.ID, identity)
	case err == nil:
		identity.Email = "" // of another user
		return s.admitMember(ctx, identity)
	case errors.Is(err, gorm.ErrRecordNotFound) && s.allowed(identity.Email):
		return s.admit(ctx, identity, s.role)
	case errors.Is(err, gorm.ErrRecordNotFound):
		return s.admitMember(ctx, identity)
	}
	return user, err
}

// admitMember adds a user with a reported group as a member. Otherwise it
// returns FORBIDDEN.
func (s *Identities) admitMember(ctx context.Context, identity Identity) (models.User, error) {
	matches, err := s.groups.Matches(ctx, identity.Groups.Values)
	switch {
	case err != nil:
		return models.User{}, err
	case matches:
		return s.admit(ctx, identity, models.RoleMember)
	case identity.Groups.Overage:
		return models.User{}, fault.Forbidden("%s", GroupsOverage)
	}
	return models.User{}, notInvited()
}

// allowed reports whether users with an email address in its domain need no
// invitation.
func (s *Identities) allowed(email string) bool {
	_, domain, _ := cutLast(foldEmail(email), "@")
	return slices.Contains(s.domains, domain)
}

// linkable reports whether a user was invited and has not joined.
func linkable(user *models.User) bool { return user.PasswordHash == "" && user.OIDCSubject == "" }

// link stores the identity of an invited user.
func (s *Identities) link(ctx context.Context, id string, identity Identity) (models.User, error) {
	var user models.User
	err := s.people.db.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
		if user, err = s.people.lockUser(tx, id, false); err != nil {
			return err
		}
		if !linkable(&user) || user.DisabledAt != nil {
			return notInvited()
		}
		user.OIDCIssuer, user.OIDCSubject = identity.Issuer, identity.Subject
		err = tx.Model(&models.User{}).Where("id = ?", id).Updates(map[string]any{"oidc_issuer": identity.Issuer, "oidc_subject": identity.Subject}).Error
		if err != nil {
			return err
		}
		return s.people.audit.Record(actingAs(tx, &user, ""), entry("person.linked", &user, "issuer", identity.Issuer))
	})
	return user, err
}

// admit adds a user who was not invited. An empty email address is not stored.
func (s *Identities) admit(ctx context.Context, identity Identity, role models.Role) (models.User, error) {
	user := models.User{
		ID: uuid.Must(uuid.NewV7()).String(), Email: strings.TrimSpace(identity.Email), EmailFold: foldEmail(identity.Email),
		Name: nameOf(identity), Role: role, OIDCIssuer: identity.Issuer, OIDCSubject: identity.Subject, CreatedAt: s.people.now(),
	}
	if user.Email == "" {
		user.EmailFold = noEmail + user.ID
	}
	err := s.people.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.people.checkLimit(tx); err != nil {
			return err
		}
		if err := tx.Create(&user).Error; err != nil {
			return err
		}
		tx = tx.WithContext(activity.WithActor(ctx, activity.Actor{Kind: activity.ActorSystem, IP: activity.ActorOf(ctx).IP, RequestID: activity.ActorOf(ctx).RequestID}))
		return s.people.audit.Record(tx, entry("person.created", &user, "role", string(user.Role), "by", "single sign-on", "issuer", identity.Issuer))
	})
	return user, err
}

// noEmail is the prefix of EmailFold for users without an email address. No
// address contains a colon.
const noEmail = "id:"

// nameOf returns a display name of an identity: its name, or the local part of
// the email address, or the subject.
func nameOf(identity Identity) string {
	local, _, _ := strings.Cut(strings.TrimSpace(identity.Email), "@")
	for _, name := range []string{strings.TrimSpace(identity.Name), local, identity.Subject} {
		if name != "" && nameProblem(name) == "" {
			return name
		}
	}
	return "Single sign-on user"
}

// GroupsOverage explains that the identity provider left a user's groups out.
const GroupsOverage = "Your identity provider left out your groups because you are in too many. Ask your administrator to send only the groups assigned to this application."

func notInvited() error {
	return fault.Forbidden("No invitation matches your verified email address. Ask an administrator.")
}
