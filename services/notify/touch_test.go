package notify_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
)

func TestTouchIncrementsRevisionsOnce(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		a, b := notify.Toolset("p"), notify.Keys("p")
		steps := []struct {
			topics []notify.Topic
			a, b   int64
		}{
			{nil, 0, 0},
			{[]notify.Topic{a}, 1, 0},
			{[]notify.Topic{b, a}, 2, 1},
			{[]notify.Topic{a, a, b, a}, 3, 2},
		}
		for _, step := range steps {
			if err := notify.Touch(db, step.topics...); err != nil {
				t.Fatal(err)
			}
			if gotA, gotB := revision(t, db, a), revision(t, db, b); gotA != step.a || gotB != step.b {
				t.Errorf("after Touch(%v): %d and %d, want %d and %d", step.topics, gotA, gotB, step.a, step.b)
			}
		}
	})
}

func TestTouchIsPartOfItsTransaction(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		stop := errors.New("stop")
		err := db.Transaction(func(tx *gorm.DB) error {
			if err := notify.Touch(tx, "projects"); err != nil {
				return err
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		if got := revision(t, db, "projects"); got != 0 {
			t.Errorf("revision after rollback = %d", got)
		}
	})
}

func TestTouchIgnoresHandleConditions(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		scoped := db.Model(&models.Project{}).Where("slug = ?", "x").Omit("revision")
		for range 2 {
			if err := notify.Touch(scoped, "projects"); err != nil {
				t.Fatal(err)
			}
		}
		if got := revision(t, db, "projects"); got != 2 {
			t.Errorf("revision = %d, want 2", got)
		}
	})
}

func TestConcurrentTouches(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		const writers = 20
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				topics := []notify.Topic{"a", "b", notify.Topic(fmt.Sprint(i))}
				if i%2 == 0 {
					topics[0], topics[1] = topics[1], topics[0]
				}
				if err := db.Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, topics...) }); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if a, b := revision(t, db, "a"), revision(t, db, "b"); a != writers || b != writers {
			t.Errorf("revisions %d and %d, want %d", a, b, writers)
		}
	})
}

func TestTopics(t *testing.T) {
	t.Parallel()
	cases := []struct {
		topic         notify.Topic
		toolset, keys string
	}{
		{notify.Toolset("p1"), "p1", ""},
		{notify.Keys("p2"), "", "p2"},
		{"projects", "", ""},
	}
	for _, c := range cases {
		toolset, isToolset := c.topic.ToolsetOf()
		keys, isKeys := c.topic.KeysOf()
		if isToolset != (c.toolset != "") || isToolset && toolset != c.toolset || isKeys != (c.keys != "") || isKeys && keys != c.keys {
			t.Errorf("%s: toolset of %q (%v), keys of %q (%v)", c.topic, toolset, isToolset, keys, isKeys)
		}
	}
}
