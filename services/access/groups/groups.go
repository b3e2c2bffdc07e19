package groups

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Publisher notifies this process and others of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records changes in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Store creates, changes and deletes groups and their members. Every change
// writes its audit rows in the same transaction and applies from the next
// request.
type Store struct {
	db          *gorm.DB
	audit       Auditor
	feed        Publisher
	memberships *Memberships
	now         func() time.Time
}

// NewStore returns the Store of the database. Changes are recorded in audit and
// published on feed.
func NewStore(db *gorm.DB, audit Auditor, feed Publisher, memberships *Memberships, now func() time.Time) *Store {
	return &Store{db: db, audit: audit, feed: feed, memberships: memberships, now: now}
}

// Group is a group of users.
type Group struct {
	ID        string
	Name      string
	Claim     string      // value of the provider's groups claim; empty without one
	Role      models.Role // empty if the group gives no role
	People    int         // number of members that count now
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Fields are attributes of a group to set. A nil field leaves its attribute
// unchanged.
type Fields struct {
	Name  *string
	Claim *string
	Role  *models.Role
}

// List returns all groups, sorted by name. There are at most Max.
func (s *Store) List(ctx context.Context) ([]Group, error) {
	var rows []models.Group
	if err := s.db.WithContext(ctx).Order("name_fold").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return s.counted(ctx, rows)
}

// Get returns the group with the ID, or NOT_FOUND.
func (s *Store) Get(ctx context.Context, id string) (Group, error) {
	row, err := groupByID(s.db.WithContext(ctx), id)
	if err != nil {
		return Group{}, fault.From(err)
	}
	out, err := s.counted(ctx, []models.Group{row})
	if err != nil {
		return Group{}, err
	}
	return out[0], nil
}

// counted returns the groups of the rows with the numbers of their members.
func (s *Store) counted(ctx context.Context, rows []models.Group) ([]Group, error) {
	var counts []struct {
		GroupID string
		People  int
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	err := s.counting(s.db.WithContext(ctx).Model(&models.GroupMember{})).Where("group_id IN ?", ids).
		Select("group_id, COUNT(DISTINCT user_id) AS people").Group("group_id").Scan(&counts).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	people := make(map[string]int, len(counts))
	for _, c := range counts {
		people[c.GroupID] = c.People
	}
	out := make([]Group, len(rows))
	for i, row := range rows {
		out[i] = Group{ID: row.ID, Name: row.Name, Claim: row.Claim, Role: row.Role, People: people[row.ID], CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt}
	}
	return out, nil
}

// counting restricts a query of members to those that count now, like
// View.Counts.
func (s *Store) counting(tx *gorm.DB) *gorm.DB {
	return tx.Where("via = ? OR seen_at > ?", models.ViaLocal, s.now().Add(-s.memberships.maxAge))
}

// Create adds a group and records group.created. It returns VALIDATION_FAILED
// for invalid fields and beyond Max groups, and CONFLICT if the name or the
// claim is in use.
func (s *Store) Create(ctx context.Context, f Fields) (Group, error) {
	var row models.Group
	err := s.change(ctx, func(c *writer) (err error) {
		row, err = c.create(f)
		return err
	})
	if err != nil {
		return Group{}, err
	}
	return s.Get(ctx, row.ID)
}

// Update changes a group and records group.changed. A new claim removes the
// members by the former one. It returns NOT_FOUND and the faults of Create.
func (s *Store) Update(ctx context.Context, id string, f Fields) (Group, error) {
	err := s.withdraw(ctx, func(c *writer) error {
		row, err := c.lock(id)
		if err == nil {
			_, err = c.update(&row, f)
		}
		return err
	})
	if err != nil {
		return Group{}, err
	}
	return s.Get(ctx, id)
}

// Delete deletes a group with its members and grants and records
// group.deleted. It returns NOT_FOUND.
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.withdraw(ctx, func(c *writer) error {
		row, err := c.lock(id)
		if err != nil {
			return err
		}
		return c.delete(&row)
	})
}

// create inserts a group with the fields.
func (c *writer) create(f Fields) (models.Group, error) {
	now := c.now()
	row := models.Group{ID: uuid.Must(uuid.NewV7()).String(), CreatedAt: now, UpdatedAt: now}
	if f.Name == nil {
		f.Name = new(string) // reported as missing
	}
	if err := c.set(&row, f); err != nil {
		return row, err
	}
	var n int64
	if err := c.tx.Model(&models.Group{}).Count(&n).Error; err != nil {
		return row, err
	}
	if n >= Max {
		return row, fault.Validation(map[string]string{"name": "There are already 1,000 groups, the maximum. Delete some first."})
	}
	if err := c.tx.Create(&row).Error; err != nil {
		return row, err
	}
	c.record("group.created", &row, "role", string(row.Role), "claim", row.Claim)
	return row, nil
}

// update stores the fields of a locked group and reports whether they changed
// it.
func (c *writer) update(row *models.Group, f Fields) (changed []string, err error) {
	old := *row
	if err := c.set(row, f); err != nil {
		return nil, err
	}
	var detail []string
	note := func(field, from, to string) {
		if from != to {
			changed, detail = append(changed, field), append(detail, field, from+" → "+to)
		}
	}
	note("name", old.Name, row.Name)
	note("claim", old.Claim, row.Claim)
	note("role", string(old.Role), string(row.Role))
	if len(changed) == 0 {
		return nil, nil
	}
	row.UpdatedAt = c.now()
	if err := c.tx.Save(row).Error; err != nil {
		return nil, err
	}
	if old.Claim != row.Claim {
		if err := c.tx.Delete(&models.GroupMember{}, "group_id = ? AND via = ?", row.ID, models.ViaClaim).Error; err != nil {
			return nil, err
		}
	}
	c.record("group.changed", row, detail...)
	return changed, nil
}

func (c *writer) delete(row *models.Group) error {
	var projects []string
	granted := c.tx.Model(&models.ProjectGrant{}).Where("subject_kind = ? AND subject_id = ?", models.SubjectGroup, row.ID)
	if err := granted.Session(&gorm.Session{}).Distinct("project_id").Pluck("project_id", &projects).Error; err != nil {
		return err
	}
	if err := granted.Session(&gorm.Session{}).Delete(&models.ProjectGrant{}).Error; err != nil {
		return err
	}
	for _, id := range projects {
		c.topics[notify.Access(id)] = true
	}
	if err := c.tx.Delete(&models.Group{}, "id = ?", row.ID).Error; err != nil {
		return err
	}
	c.record("group.deleted", row, "role", string(row.Role), "claim", row.Claim)
	return nil
}

// set validates the fields and sets them in the row, which it doesn't store.
func (c *writer) set(row *models.Group, f Fields) error {
	problems := map[string]string{}
	if f.Name != nil {
		row.Name = strings.TrimSpace(*f.Name)
		row.NameFold = Fold(row.Name)
		note(problems, "name", NameProblem(row.Name))
	}
	if f.Claim != nil {
		row.Claim = *f.Claim
		note(problems, "claim", claimProblem(row.Claim))
	}
	if f.Role != nil {
		row.Role = *f.Role
		note(problems, "role", roleProblem(row.Role))
	}
	if len(problems) > 0 {
		return fault.Validation(problems)
	}
	return c.checkUnused(row)
}

// checkUnused returns CONFLICT if another group has the row's name or claim.
func (c *writer) checkUnused(row *models.Group) error {
	var others []models.Group
	err := c.tx.Limit(2).Find(&others, "id <> ? AND (name_fold = ? OR claim = ? AND claim <> '')", row.ID, row.NameFold, row.Claim).Error
	if err != nil || len(others) == 0 {
		return err
	}
	f := fault.Conflict("Another group has this name.")
	f.Fields = map[string]string{"name": f.Message}
	if others[0].NameFold != row.NameFold {
		f = fault.Conflict("The group %s already has this claim value.", others[0].Name)
		f.Fields = map[string]string{"claim": f.Message}
	}
	return f
}

// Fold returns the form in which names of groups are compared.
func Fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// NameProblem returns the reason a group's name is invalid, or "".
func NameProblem(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "Enter a name."
	case name != strings.TrimSpace(name) || utf8.RuneCountInString(name) > MaxName || !printable(name):
		return "Use at most 100 printable characters."
	}
	return ""
}

// claimProblem returns the reason a claim's value is invalid, or "". An empty
// value is valid.
func claimProblem(claim string) string {
	if len(claim) > MaxClaim || claim != strings.TrimSpace(claim) || !printable(claim) {
		return "Use at most 256 bytes of printable characters, without spaces at the ends."
	}
	return ""
}

// roleProblem returns the reason a group's role is invalid, or "". An empty
// role is valid.
func roleProblem(role models.Role) string {
	if role != "" && rank[role] == 0 {
		return "Use admin, viewer or member, or leave it empty."
	}
	return ""
}

// printable reports whether text is valid UTF-8 without control and format
// characters.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) })
}

func note(problems map[string]string, field, problem string) {
	if problem != "" {
		problems[field] = problem
	}
}

func groupByID(tx *gorm.DB, id string) (models.Group, error) {
	var row models.Group
	err := tx.First(&row, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("group", id)
	}
	return row, err
}

// nameOf returns the name of a user in the audit log: the email address, or
// the name of a user without one.
func nameOf(u *models.User) string { return cmp.Or(u.Email, u.Name) }
