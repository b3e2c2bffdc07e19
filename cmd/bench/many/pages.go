package many

import (
	"context"
	"time"

	"mcpgateway/cmd/bench/measure"
)

// Page is a measured page.
type Page struct {
	Name string        `json:"name"`
	Took measure.Range `json:"tookUs"` // until the last byte, in microseconds
	Size int           `json:"size"`   // bytes, uncompressed
}

// pages are the measured pages by name, those of the largest project among them.
func pages() [][2]string {
	project := "/admin/projects/" + slug(0)
	return [][2]string{
		{"Projects", "/admin/projects"},
		{"Search of projects", "/admin/projects?query=project-77"},
		{"Overview of the largest project", project},
		{"Its servers", project + "/servers"},
		{"Its tools", project + "/tools"},
		{"Its keys", project + "/keys"},
		{"Its access", project + "/access"},
		{"Its toolsets", project + "/toolsets"},
		{"Its activity", project + "/activity"},
		{"Its connect page", project + "/connect"},
		{"Its settings", project + "/settings"},
		{"Connections", "/admin/connections"},
		{"People", "/admin/people"},
		{"Search of people", "/admin/people?query=person-7777"},
		{"A person", "/admin/people/" + personID(7)},
		{"Groups", "/admin/groups"},
		{"The group of everyone", "/admin/groups/g0"},
		{"Audit log", "/admin/audit"},
		{"Palette", "/admin/palette?query=project-77"},
		{"Catalog", "/registry"},
		{"Requests for servers", "/admin/catalog/requests"},
		{"Settings", "/admin/settings"},
		{"Export", "/admin/export"},
	}
}

// measurePages requests every page times times, after one that isn't measured.
func measurePages(ctx context.Context, b *browser, times int) ([]Page, error) {
	var measured []Page
	for _, page := range pages() {
		body, _, err := b.get(ctx, page[1])
		if err != nil {
			return nil, err
		}
		took := make([]float64, times)
		for i := range took {
			_, one, err := b.get(ctx, page[1])
			if err != nil {
				return nil, err
			}
			took[i] = float64(one) / float64(time.Microsecond)
		}
		measured = append(measured, Page{page[0], measure.RangeOf(took...), len(body)})
	}
	return measured, nil
}
