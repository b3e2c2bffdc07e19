package oauthserver_test

import (
	"testing"

	"gorm.io/gorm"

	"mcpgateway/services/notify"
)

// publishPeople publishes a change of users in this process.
func (w *world) publishPeople(t *testing.T) {
	t.Helper()
	err := w.db.Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, notify.People()) })
	if err == nil {
		err = w.feed.Publish(t.Context(), notify.People())
	}
	if err != nil {
		t.Fatal(err)
	}
}
