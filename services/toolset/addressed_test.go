package toolset

import (
	"slices"
	"testing"

	"mcpgateway/models"
)

func TestAddressed(t *testing.T) {
	src := Source{
		Servers: []models.Server{server("1", "first", nil), server("2", "second", nil)},
		Tools:   map[string][]models.Tool{"2": {tool("a", `{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"}}}`)}},
		Listings: map[string][]models.Listing{
			"1": {listing(models.ListingResource, "x://1"), listing(models.ListingResource, "ui://a"), listing(models.ListingSkill, "skill://r/SKILL.md")},
			"2": {
				listing(models.ListingResource, "x://1"), listing(models.ListingResource, "x://2"), listing(models.ListingTemplate, "x://{n}"),
				listing(models.ListingTemplate, "{+uri}"), listing(models.ListingSkill, "skill://r/SKILL.md"), listing(models.ListingPrompt, "hello"),
			},
		},
	}
	src.Claims = claimsOf(src)
	want := []Addressed{
		{"x://1", "x://+second/1", "first"}, {"x://{n}", "x://+second/{n}", "first"}, {"{+uri}", "", "first"},
		{"skill://r/", "skill://+second/r/", "first"}, {"ui://a", "ui://+second/a", "first"},
	}
	s := Build(src, noTarget)
	if got := s.Offers.Addressed("second"); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, alias := range []string{"first", "unknown"} {
		if got := s.Offers.Addressed(alias); got != nil {
			t.Errorf("%s: %+v", alias, got)
		}
	}
}
