package catalog

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/changes"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
)

// byAdmin marks a decision of an administrator, which overrides the source.
const byAdmin = "admin"

// SetFeatured sets whether an entry is listed first, regardless of its source.
// It returns NOT_FOUND for an unknown entry.
func (s *Store) SetFeatured(ctx context.Context, id string, featured bool) error {
	return s.decide(ctx, id, "catalog.featured", func(row *models.CatalogEntry) (map[string]any, error) {
		if row.Featured == featured && row.FeaturedBy == byAdmin {
			return nil, nil
		}
		return map[string]any{"featured": featured, "featured_by": byAdmin}, nil
	})
}

// SetVerified sets whether the publisher of an entry is verified, and the
// evidence, regardless of its source. It returns NOT_FOUND for an unknown entry
// and VALIDATION_FAILED without evidence.
func (s *Store) SetVerified(ctx context.Context, id string, verified bool, evidence string) error {
	evidence = sources.Clean(evidence, sources.MaxEvidence)
	if verified && evidence == "" {
		return fault.Validation(map[string]string{"evidence": "describe how the publisher was verified"})
	}
	if !verified {
		evidence = ""
	}
	return s.decide(ctx, id, "catalog.verified", func(row *models.CatalogEntry) (map[string]any, error) {
		if row.Verified == verified && row.VerifiedEvidence == evidence && row.VerifiedBy == byAdmin {
			return nil, nil
		}
		return map[string]any{"verified": verified, "verified_evidence": evidence, "verified_by": byAdmin}, nil
	})
}

// SetHidden hides an entry or shows it again. It returns NOT_FOUND for an
// unknown entry.
func (s *Store) SetHidden(ctx context.Context, id string, hidden bool) error {
	return s.decide(ctx, id, "catalog.hidden", func(row *models.CatalogEntry) (map[string]any, error) {
		if row.Hidden == hidden {
			return nil, nil
		}
		return map[string]any{"hidden": hidden}, nil
	})
}

// Edit is an administrator's change of an entry. Nil leaves a field unchanged.
type Edit struct {
	PublisherTitle *string
	ServerTitle    *string
	Description    *string
	Tags           *[]string
	IconURL        *string
	RepoURL        *string
	DocsURL        *string
	WebsiteURL     *string
}

// Edit changes an entry and locks it, so that imports don't change it. It
// returns NOT_FOUND for an unknown entry and VALIDATION_FAILED for invalid
// fields.
func (s *Store) Edit(ctx context.Context, id string, e Edit) error {
	changes, err := e.changes()
	if err != nil {
		return err
	}
	return s.decide(ctx, id, "catalog.edited", func(*models.CatalogEntry) (map[string]any, error) { return changes, nil })
}

func (e *Edit) changes() (map[string]any, error) {
	changes, wrong := map[string]any{"locked": true}, map[string]string{}
	for column, f := range map[string]struct {
		value *string
		field string
		most  int
	}{
		"publisher_title": {e.PublisherTitle, "publisherTitle", sources.MaxTitle},
		"server_title":    {e.ServerTitle, "serverTitle", sources.MaxTitle},
		"description":     {e.Description, "description", sources.MaxDescription},
	} {
		if f.value == nil {
			continue
		}
		text := sources.Clean(*f.value, f.most)
		switch {
		case text == "" && column != "description":
			wrong[f.field] = "must not be empty"
		case utf8.RuneCountInString(strings.TrimSpace(*f.value)) > f.most:
			wrong[f.field] = fmt.Sprintf("use at most %d characters", f.most)
		}
		changes[column] = text
	}
	for column, f := range map[string]struct {
		value *string
		field string
		clean func(string) string
	}{
		"icon_url": {e.IconURL, "iconUrl", sources.CleanIcon}, "repo_url": {e.RepoURL, "repoUrl", sources.CleanLink},
		"docs_url": {e.DocsURL, "docsUrl", sources.CleanLink}, "website_url": {e.WebsiteURL, "websiteUrl", sources.CleanLink},
	} {
		if f.value == nil {
			continue
		}
		link := f.clean(*f.value)
		if link == "" && strings.TrimSpace(*f.value) != "" {
			wrong[f.field] = "use a URL that starts with https://"
		}
		changes[column] = link
	}
	if e.Tags != nil {
		if problem := sources.CheckTags(*e.Tags); problem != "" {
			wrong["tags"] = problem
		}
		changes["tags"] = models.StringList(sources.Tags(*e.Tags))
	}
	if len(wrong) > 0 {
		return nil, fault.Validation(wrong)
	}
	return changes, nil
}

// Unlock drops all decisions of administrators about an entry, except for
// hiding it. The next sync then applies the source again; an entry of the
// built-in data is restored immediately. It returns NOT_FOUND for an unknown
// entry.
func (s *Store) Unlock(ctx context.Context, id string) error {
	source := ""
	err := s.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := entryOf(tx, id)
		if err != nil {
			return nil, err
		}
		source = row.SourceID
		// An incremental source must send everything again.
		if err := tx.Model(&models.CatalogSource{}).Where("id = ?", source).Updates(map[string]any{"content_hash": "", "high_water": nil, "etag": ""}).Error; err != nil {
			return nil, err
		}
		err = tx.Model(&models.CatalogEntry{}).Where("id = ?", id).Updates(map[string]any{
			"locked": false, "featured_by": "", "verified_by": "", "content_hash": "", "updated_at": s.now(),
		}).Error
		if err == nil {
			err = changes.Decided(tx, "catalog.unlocked", s.now(), &row)
		}
		return &activity.Entry{Action: "catalog.unlocked", Object: sources.FullName(&row), ObjectID: id}, err
	})
	if err != nil || source != SourceDefault {
		return err
	}
	return s.LoadDefaults(ctx)
}

// decide updates the columns of an entry that decision returns. None means that
// the entry already is as decided.
func (s *Store) decide(ctx context.Context, id, action string, decision func(*models.CatalogEntry) (map[string]any, error)) error {
	return s.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := entryOf(tx, id)
		if err != nil {
			return nil, err
		}
		columns, err := decision(&row)
		if err != nil || len(columns) == 0 {
			return nil, err
		}
		detail := map[string]string{}
		for column, value := range columns {
			switch v := value.(type) {
			case bool:
				detail[column] = strconv.FormatBool(v)
			case string:
				detail[column] = v
			case models.StringList:
				detail[column] = strings.Join(v, ", ")
			}
		}
		columns["updated_at"] = s.now()
		err = tx.Model(&models.CatalogEntry{}).Where("id = ?", id).Updates(columns).Error
		if err == nil {
			err = changes.Decided(tx, action, s.now(), &row)
		}
		return &activity.Entry{Action: action, Object: sources.FullName(&row), ObjectID: id, Detail: detail}, err
	})
}
