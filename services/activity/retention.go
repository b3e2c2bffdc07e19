package activity

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// day is the unit of retention.
const day = 24 * time.Hour

// deletedProject is the retention of the calls of deleted projects. Their
// payloads are deleted at once.
var deletedProject = models.Project{RetentionCalls: 7}

// Sweep deletes the calls and payloads that are older than their project's
// retention, and the oldest calls beyond MaxCalls. It deletes in batches and
// returns a database error as an INTERNAL fault.
func (c *Calls) Sweep(ctx context.Context) error {
	var projects []models.Project
	if err := c.db.WithContext(ctx).Select("id", "retention_calls", "retention_payloads").Find(&projects).Error; err != nil {
		return fault.Internal(err)
	}
	stored := make(map[string]models.Project, len(projects))
	for _, project := range projects {
		stored[project.ID] = project
	}
	for _, part := range []func(context.Context, map[string]models.Project) error{c.sweepCalls, c.sweepPayloads} {
		if err := part(ctx, stored); err != nil {
			return err
		}
	}
	return nil
}

// sweepCalls deletes old calls of each project, and the oldest of all beyond
// MaxCalls.
func (c *Calls) sweepCalls(ctx context.Context, stored map[string]models.Project) error {
	err := c.eachProject(ctx, &models.Call{}, stored, func(id string, project models.Project) error {
		end := c.now().UTC().Add(-time.Duration(project.RetentionCalls) * day)
		return c.removeOldest(ctx, c.db.Model(&models.Call{}).Where("project_id = ?", id), "at < ?", end)
	})
	if err != nil {
		return err
	}
	var oldest []string
	if err := c.db.WithContext(ctx).Model(&models.Call{}).Order("id DESC").Offset(MaxCalls).Limit(1).Pluck("id", &oldest).Error; err != nil {
		return fault.Internal(err)
	}
	if len(oldest) == 0 {
		return nil
	}
	return c.removeOldest(ctx, c.db.Model(&models.Call{}), "id <= ?", oldest[0])
}

// removeOldest repeatedly deletes the calls of a query that match a condition
// among the oldest, until the oldest doesn't match. Ids sort by time, so later
// calls don't match either.
func (c *Calls) removeOldest(ctx context.Context, calls *gorm.DB, condition string, value any) error {
	calls = calls.Select("id").Order("id").Session(&gorm.Session{Context: ctx})
	for {
		var oldest, matching []string
		if err := calls.Limit(1).Pluck("id", &oldest).Error; err != nil {
			return fault.Internal(err)
		}
		if err := c.db.WithContext(ctx).Model(&models.Call{}).Where("id IN ?", oldest).Where(condition, value).Pluck("id", &matching).Error; err != nil {
			return fault.Internal(err)
		}
		if len(matching) == 0 {
			return nil
		}
		done := c.db.WithContext(ctx).Where("id IN (?)", calls.Limit(callsPerSweep)).Where(condition, value).Delete(&models.Call{})
		if done.Error != nil {
			return fault.Internal(done.Error)
		}
	}
}

// sweepPayloads deletes payloads that are too old or whose project or call was
// deleted.
func (c *Calls) sweepPayloads(ctx context.Context, stored map[string]models.Project) error {
	err := c.eachProject(ctx, &models.CallPayload{}, stored, func(id string, project models.Project) error {
		end := c.now().UTC().Add(-time.Duration(project.RetentionPayloads) * day)
		return c.removePayloads(ctx, c.db.Where("project_id = ? AND at < ?", id, end))
	})
	if err != nil {
		return err
	}
	return c.removePayloads(ctx, c.db.Where("NOT EXISTS (?)", c.db.Model(&models.Call{}).Select("1").Where("calls.id = call_payloads.call_id")))
}

// removePayloads deletes matching payloads in batches.
func (c *Calls) removePayloads(ctx context.Context, matching *gorm.DB) error {
	for {
		batch := c.db.Model(&models.CallPayload{}).Select("call_id").Where(matching).Limit(callsPerSweep)
		done := c.db.WithContext(ctx).Where("call_id IN (?)", batch).Delete(&models.CallPayload{})
		if done.Error != nil {
			return fault.Internal(done.Error)
		}
		if done.RowsAffected < callsPerSweep {
			return nil
		}
	}
}

// eachProject calls sweep for every project with rows of a model, also for
// deleted ones. It reads one entry of the model's index per project.
func (c *Calls) eachProject(ctx context.Context, model any, stored map[string]models.Project, sweep func(id string, project models.Project) error) error {
	last := ""
	for first := true; ; first = false {
		rows := c.db.WithContext(ctx).Model(model).Order("project_id").Limit(1)
		if !first {
			rows = rows.Where("project_id > ?", last)
		}
		var next []string
		if err := rows.Pluck("project_id", &next).Error; err != nil {
			return fault.Internal(err)
		}
		if len(next) == 0 {
			return nil
		}
		last = next[0]
		project, found := stored[last]
		if !found {
			project = deletedProject
		}
		if err := sweep(last, project); err != nil {
			return err
		}
	}
}
