package groups

import (
	"context"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/locks"
	"mcpgateway/services/notify"
)

// writer is one transaction over groups. Its audit rows and topics are written
// at the end, because both block other writers.
type writer struct {
	tx      *gorm.DB
	now     func() time.Time
	entries []activity.Entry
	topics  map[notify.Topic]bool
}

// change runs write in a transaction over all groups, records its entries and
// publishes its topics after the commit.
func (s *Store) change(ctx context.Context, write func(*writer) error) error {
	c := &writer{now: s.now, topics: map[notify.Topic]bool{}}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// Concurrent writers could exceed the limits together.
		if err := locks.InTransaction(tx, "groups"); err != nil {
			return err
		}
		c.tx, c.entries = tx, nil
		clear(c.topics)
		if err := write(c); err != nil {
			return err
		}
		if err := s.audit.RecordAll(tx, c.entries); err != nil {
			return err
		}
		return notify.Touch(tx, slices.Sorted(maps.Keys(c.topics))...)
	})
	if err != nil {
		return fault.From(err)
	}
	return s.feed.Publish(ctx, slices.Sorted(maps.Keys(c.topics))...)
}

// withdraw is change for writes that can remove rights. They must succeed even
// on a full disk.
func (s *Store) withdraw(ctx context.Context, write func(*writer) error) error {
	return models.Essential(s.db, func() error { return s.change(ctx, write) })
}

// record adds an audit entry of a group and raises the users' topic. more
// alternates names and values of the detail; empty values are left out.
func (c *writer) record(action string, row *models.Group, more ...string) {
	c.recordOf(action, row.Name, row.ID, more...)
}

func (c *writer) recordOf(action, object, id string, more ...string) {
	detail := map[string]string{}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			detail[more[i]] = more[i+1]
		}
	}
	c.entries = append(c.entries, activity.Entry{Action: action, Object: object, ObjectID: id, Detail: detail})
	c.topics[notify.People()] = true
}

// lock returns the row of a group, locked until the transaction ends, or
// NOT_FOUND.
func (c *writer) lock(id string) (models.Group, error) {
	return groupByID(c.tx.Clauses(models.LockRow(c.tx)...), id)
}
