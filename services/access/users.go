package access

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

// Limits of users and their attributes.
const (
	MaxUsers    = 10_000
	MaxEmail    = 254 // bytes (RFC 5321, section 4.5.3.1.3)
	MaxUserName = 100 // characters
)

// Publisher notifies this process and others of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records a change or a security event in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// TokenSealer seals data that browsers store.
type TokenSealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Users manages the accounts of users who may sign in, their roles and their browser
// sessions.
type Users struct {
	db        *gorm.DB
	audit     Auditor
	feed      Publisher
	sealer    TokenSealer
	passwords *passwords.Hasher
	groups    *groups.Memberships
	attempts  *attempts.Counter
	now       func() time.Time
	factors   Factors // nil without second factors
}

// NewUsers returns the Users of the database. Changes are recorded in audit
// and published on feed. sealer seals the cookies of known browsers. groups
// returns the groups whose roles users have in addition to their own.
func NewUsers(db *gorm.DB, audit Auditor, feed Publisher, sealer TokenSealer, passwords *passwords.Hasher, groups *groups.Memberships, now func() time.Time) *Users {
	return &Users{db: db, audit: audit, feed: feed, sealer: sealer, passwords: passwords, groups: groups, attempts: attempts.New(db, sealer, now), now: now}
}

// NewUser holds the attributes of a user to create.
type NewUser struct {
	Email    string
	Name     string // defaults to the part of the email address before the @
	Role     models.Role
	Password secrets.Value // empty for an invitation: the identity provider verifies the email address at the first sign-in
}

// Create adds a user and records it. It returns VALIDATION_FAILED for invalid
// fields and CONFLICT if the email address is in use or MaxUsers is reached.
// Adding an administrator permanently completes the setup.
func (p *Users) Create(ctx context.Context, n NewUser) (User, error) {
	return p.create(ctx, n, func(*gorm.DB, *models.User) error { return nil })
}

// create is Create; also runs in the same transaction after the user is recorded.
func (p *Users) create(ctx context.Context, n NewUser, also func(*gorm.DB, *models.User) error) (User, error) {
	row, err := p.newUser(ctx, n, passwords.SignedInQueue(activity.ActorOf(ctx).ID))
	if err != nil {
		return User{}, err
	}
	err = p.change(ctx, func(tx *gorm.DB) error {
		if err := p.checkLimit(tx); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return taken(err)
		}
		if row.Role == models.RoleAdmin {
			if _, err := endSetup(tx, row.ID, row.CreatedAt); err != nil {
				return err
			}
		}
		if err := p.audit.Record(tx, entry("person.created", &row, "role", string(row.Role))); err != nil {
			return err
		}
		return also(tx, &row)
	})
	if err != nil {
		return User{}, err
	}
	return p.personOf(&row, groups.View{}), nil
}

// newUser returns the validated row of a new user, with the password hashed.
func (p *Users) newUser(ctx context.Context, n NewUser, queue passwords.Queue) (models.User, error) {
	n.Email, n.Name = strings.TrimSpace(n.Email), strings.TrimSpace(n.Name)
	fields := map[string]string{}
	note(fields, "email", emailProblem(n.Email))
	note(fields, "name", nameProblem(n.Name))
	note(fields, "role", roleProblem(n.Role))
	if !n.Password.IsZero() {
		note(fields, "password", passwords.Problem(n.Password, n.Email))
	}
	if len(fields) > 0 {
		return models.User{}, fault.Validation(fields)
	}
	if n.Name == "" {
		n.Name, _, _ = strings.Cut(n.Email, "@")
	}
	row := models.User{ID: uuid.Must(uuid.NewV7()).String(), Email: n.Email, EmailFold: foldEmail(n.Email), Name: n.Name, Role: n.Role, CreatedAt: p.now()}
	if !n.Password.IsZero() {
		hash, err := p.passwords.Hash(ctx, queue, n.Password)
		if err != nil {
			return models.User{}, err
		}
		row.PasswordHash = hash
	}
	return row, nil
}

// checkLimit returns CONFLICT if MaxUsers is reached.
func (p *Users) checkLimit(tx *gorm.DB) error {
	var n int64
	if err := tx.Model(&models.User{}).Count(&n).Error; err != nil {
		return err
	}
	if n >= MaxUsers {
		return fault.Conflict("There are already %d users. Delete some first.", n)
	}
	return nil
}

// List returns all users, sorted by email address. There are at most MaxUsers.
func (p *Users) List(ctx context.Context) ([]User, error) {
	var rows []models.User
	if err := p.db.WithContext(ctx).Order("email_fold").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return p.personsOf(ctx, rows)
}

// ListUpTo is List if there are at most limit users. Otherwise, ok is false.
func (p *Users) ListUpTo(ctx context.Context, limit int) (users []User, ok bool, err error) {
	var rows []models.User
	if err := p.db.WithContext(ctx).Order("email_fold").Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, false, fault.Internal(err)
	}
	if len(rows) > limit {
		return nil, false, nil
	}
	users, err = p.personsOf(ctx, rows)
	return users, err == nil, err
}

// Get returns the user with the ID, or NOT_FOUND.
func (p *Users) Get(ctx context.Context, id string) (User, error) {
	db := p.db.WithContext(ctx)
	row, err := userByID(db, id)
	if err != nil {
		return User{}, fault.From(err)
	}
	return p.person(db, &row)
}

// SetRole changes the role of a user and records it. The role applies from the
// next request. It returns NOT_FOUND, VALIDATION_FAILED for an unknown role,
// and CONFLICT if no enabled administrator would remain. Promoting an
// administrator permanently completes the setup.
func (p *Users) SetRole(ctx context.Context, id string, role models.Role) error {
	if problem := roleProblem(role); problem != "" {
		return fault.Validation(map[string]string{"role": problem})
	}
	return p.withdraw(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, role != models.RoleAdmin)
		if err != nil || row.Role == role {
			return err
		}
		if err := tx.Model(&models.User{}).Where("id = ?", id).Update("role", role).Error; err != nil {
			return err
		}
		if role == models.RoleAdmin {
			if _, err := endSetup(tx, id, p.now()); err != nil {
				return err
			}
		}
		return p.audit.Record(tx, entry("person.role_changed", &row, "from", string(row.Role), "to", string(role)))
	})
}

// Rename changes the name of a user and records it. It returns NOT_FOUND and
// VALIDATION_FAILED.
func (p *Users) Rename(ctx context.Context, id, name string) error {
	name = strings.TrimSpace(name)
	problem := nameProblem(name)
	if name == "" {
		problem = "Enter a name."
	}
	if problem != "" {
		return fault.Validation(map[string]string{"name": problem})
	}
	return p.change(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, false)
		if err != nil || row.Name == name {
			return err
		}
		if err := tx.Model(&models.User{}).Where("id = ?", id).Update("name", name).Error; err != nil {
			return err
		}
		return p.audit.Record(tx, entry("person.renamed", &row, "from", row.Name, "to", name))
	})
}

// Disable blocks sign-ins of a user and ends their sessions, effective from the
// next request, and records it. It does nothing for a disabled user. It returns
// NOT_FOUND, and CONFLICT for the last enabled administrator.
func (p *Users) Disable(ctx context.Context, id string) error {
	return p.withdraw(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, true)
		if err != nil || row.DisabledAt != nil {
			return err
		}
		if err := tx.Model(&models.User{}).Where("id = ?", id).Update("disabled_at", p.now()).Error; err != nil {
			return err
		}
		if _, err := p.endSessions(tx, id, ""); err != nil {
			return err
		}
		return p.audit.Record(tx, entry("person.disabled", &row))
	})
}

// Enable allows a disabled user to sign in again and records it. It returns
// NOT_FOUND.
func (p *Users) Enable(ctx context.Context, id string) error {
	return p.change(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, false)
		if err != nil || row.DisabledAt == nil {
			return err
		}
		if err := tx.Model(&models.User{}).Where("id = ?", id).Update("disabled_at", nil).Error; err != nil {
			return err
		}
		return p.audit.Record(tx, entry("person.enabled", &row))
	})
}

// Delete deletes a user with their sessions, memberships and grants, revokes
// their personal keys and records it. It returns NOT_FOUND, and CONFLICT for the
// last enabled administrator.
func (p *Users) Delete(ctx context.Context, id string) error {
	return p.withdraw(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, true)
		if err != nil {
			return err
		}
		if err := p.deleteHeld(tx, id); err != nil {
			return err
		}
		if err := tx.Delete(&models.User{}, "id = ?", id).Error; err != nil {
			return err
		}
		return p.audit.Record(tx, entry("person.deleted", &row, "role", string(row.Role)))
	})
}

// deleteHeld deletes the grants of a user and revokes their personal keys.
func (p *Users) deleteHeld(tx *gorm.DB, id string) error {
	if err := tx.Delete(&models.ProjectGrant{}, "subject_kind = ? AND subject_id = ?", models.SubjectPerson, id).Error; err != nil {
		return err
	}
	return tx.Model(&models.Key{}).Where("user_id = ? AND revoked_at IS NULL", id).Update("revoked_at", p.now()).Error
}

// lockUser returns the row of a user, locked until the transaction ends. If loses
// is set, the user is about to lose administrator rights: held then locks all
// enabled administrators, so that two can't remove each other concurrently, and
// returns CONFLICT if no other remains.
func (p *Users) lockUser(tx *gorm.DB, id string, loses bool) (models.User, error) {
	var admins []models.User
	if loses {
		err := tx.Clauses(models.LockRow(tx)...).Select("id").Where("role = ? AND disabled_at IS NULL", models.RoleAdmin).Order("id").Find(&admins).Error
		if err != nil {
			return models.User{}, err
		}
	}
	row, err := userByID(tx.Clauses(models.LockRow(tx)...), id)
	if err != nil {
		return models.User{}, err
	}
	if loses && len(admins) == 1 && admins[0].ID == id {
		return models.User{}, fault.Conflict("%s is the only active administrator. Promote someone else first.", row.Email)
	}
	return row, nil
}

// change runs write in a transaction that also raises the users' topic and those
// in also, and publishes them after the commit.
func (p *Users) change(ctx context.Context, write func(*gorm.DB) error, also ...notify.Topic) error {
	topics := append([]notify.Topic{notify.People()}, also...)
	err := p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := write(tx); err != nil {
			return err
		}
		return notify.Touch(tx, topics...)
	})
	if err != nil {
		return fault.From(err)
	}
	return p.feed.Publish(ctx, topics...)
}

// withdraw is change for writes that remove rights. They must succeed even on a
// full disk.
func (p *Users) withdraw(ctx context.Context, write func(*gorm.DB) error, also ...notify.Topic) error {
	return models.Essential(p.db, func() error { return p.change(ctx, write, also...) })
}

func userByID(tx *gorm.DB, id string) (models.User, error) {
	var row models.User
	err := tx.First(&row, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("person", id)
	}
	return row, err
}

// taken returns the fault for an email address in use. Other errors are
// returned unchanged.
func taken(err error) error {
	if !errors.Is(err, gorm.ErrDuplicatedKey) {
		return err
	}
	f := fault.Conflict("This email address is already in use.")
	f.Fields = map[string]string{"email": "This email address is already in use."}
	return f
}
