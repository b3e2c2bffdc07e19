package views_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/views"
)

// one is a directory with one project.
type one struct{ now *toolset.Snapshot }

func (o *one) Project(slug string) (*toolset.Snapshot, error) {
	if slug != o.now.Project.Slug {
		return nil, fault.NotFound("project", slug)
	}
	return o.now, nil
}

func (o *one) ProjectByID(string) *toolset.Snapshot { return o.now }

// holds are the rights of each user.
type holds map[string]rights.Held

func (h holds) Held(_ *models.Project, userID string) rights.Held { return h[userID] }

type noKeys struct{}

func (noKeys) Scope(string, string) (keys.Scope, bool) { return keys.Scope{}, false }

// project returns a project with the tools up__a and up__b, and toolsets of one
// tool each, with the tools' names as ids.
func project(extra ...models.Toolset) *one {
	src := gatewaytest.Source(`{"name":"a","annotations":{"readOnlyHint":true}}`, "b")
	src.Toolsets = append(extra, models.Toolset{ID: "a", Slug: "a", Query: "readonly:true"}, models.Toolset{ID: "b", Slug: "b", Include: models.StringList{"up__b"}})
	return &one{gatewaytest.Build(src)}
}

func names(view *toolset.Snapshot) string {
	var all []string
	for _, t := range view.Tools {
		all = append(all, t.Upstream)
	}
	return strings.Join(all, " ")
}

func TestViewOfAUser(t *testing.T) {
	p := project()
	v := views.New(p, holds{
		"all": {Everything: true}, "a": {Toolsets: []string{"a"}}, "both": {Toolsets: []string{"a", "b"}}, "gone": {Toolsets: []string{"deleted"}},
	}, noKeys{})
	for user, want := range map[string]string{"all": "a b", "a": "a", "both": "a b", "gone": "", "nobody": "401"} {
		view, err := v.Current(access.Administrator(user, "p"))
		got := "401"
		if err == nil {
			got = names(view)
		} else if !fault.Is(err, fault.CodeUnauthorized) {
			t.Error(err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", user, got, want)
		}
	}
	everything, err := v.Current(access.Administrator("all", "p"))
	if err != nil || everything != p.now {
		t.Error("the view of everything is not the project's own snapshot")
	}
}

// TestRules selects tools by the rules of a toolset.
func TestRules(t *testing.T) {
	for rule, want := range map[*models.Toolset]string{
		{}:                                     "",
		{Query: "server:up"}:                   "a b",
		{Query: "readonly:true"}:               "a",
		{Query: "-readonly:true"}:              "b",
		{Query: "server:up -destructive:true"}: "a",
		{Query: "name:b"}:                      "b",
		{Query: "words"}:                       "",
		{Query: "no:such"}:                     "",
		{Query: `"unclosed`}:                   "",
		{Include: models.StringList{"*"}}:      "a b",
		{Include: models.StringList{"up__?"}}:  "a b",
		{Include: models.StringList{"b"}}:      "",
		{Include: models.StringList{"UP__B"}}:  "",
		{Query: "readonly:true", Include: models.StringList{"up__b"}}:              "a b",
		{Query: "server:up", Exclude: models.StringList{"*__b"}}:                   "a",
		{Include: models.StringList{"up__b"}, Exclude: models.StringList{"up__b"}}: "",
	} {
		if got := names(views.Preview(project().now, rule)); got != want {
			t.Errorf("%+v: %q, want %q", rule, got, want)
		}
	}
}

// TestCachedViews uses one view more than are cached.
func TestCachedViews(t *testing.T) {
	held := holds{}
	p := project()
	v := views.New(p, held, noKeys{})
	of := func(i int) *toolset.Snapshot {
		user := fmt.Sprint(i)
		held[user] = rights.Held{Toolsets: []string{"a", "x" + user}}
		view, err := v.Current(access.Administrator(user, "p"))
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	var first []*toolset.Snapshot
	for i := range views.MaxCached {
		first = append(first, of(i))
	}
	if of(0) != first[0] {
		t.Error("view 0 of the maximum was built again")
	}
	of(views.MaxCached) // replaces view 1, the oldest use
	if of(0) != first[0] || of(2) != first[2] {
		t.Error("a view in use was dropped")
	}
	if of(1) == first[1] {
		t.Error("more views are cached than the maximum")
	}
	p.now = project().now
	if of(0) == first[0] {
		t.Error("the view of a replaced snapshot is used")
	}
	v.Forget("p")
	if got := names(of(0)); got != "a" {
		t.Errorf("after Forget: %q", got)
	}
}

func TestEndpoints(t *testing.T) {
	v := views.New(project(), holds{"ann": {Toolsets: []string{"a"}}}, noKeys{})
	for _, tc := range []struct{ project, toolset, path string }{
		{"p", "", "/v1/mcp/p"}, {"p", "a", "/v1/mcp/p/toolsets/a"}, {"p", "c", ""}, {"q", "", ""}, {"q", "a", ""},
	} {
		at, err := v.Endpoint(tc.project, tc.toolset)
		if tc.path == "" {
			if !fault.Is(err, fault.CodeNotFound) {
				t.Errorf("%v: %v", tc, err)
			}
			continue
		}
		if err != nil || at.Path() != tc.path {
			t.Errorf("%v: %v", tc, err)
		}
	}
	// A caller of one endpoint has no view at another.
	at, err := v.Endpoint("p", "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Of(at, access.Administrator("ann", "p")); !fault.Is(err, fault.CodeUnauthorized) {
		t.Errorf("a caller of the project at the toolset: %v", err)
	}
	if _, err := v.Of(at, access.Principal{}); !fault.Is(err, fault.CodeUnauthorized) {
		t.Errorf("no caller: %v", err)
	}
}

// TestOffersOfTheView checks the prompts and resources of a union of toolsets:
// "*" concerns the members of that toolset only.
func TestOffersOfTheView(t *testing.T) {
	src := gatewaytest.Source(`{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"}}}`)
	src.Inventories["u"].Capabilities = `{"resources":{}}`
	src.Servers = append(src.Servers, models.Server{ID: "v", Alias: "other", Enabled: true})
	src.Inventories["v"] = &models.Inventory{ServerID: "v", SyncedAt: src.Inventories["u"].SyncedAt, Capabilities: `{"resources":{}}`}
	src.Tools["v"] = []models.Tool{{ServerID: "v", Name: "c", Definition: `{"name":"c"}`}}
	src.Listings = map[string][]models.Listing{
		"u": {{ServerID: "u", Kind: models.ListingResource, Ident: "doc://a", Definition: `{"uri":"doc://a"}`}, {ServerID: "u", Kind: models.ListingResource, Ident: "ui://a", Definition: `{"uri":"ui://a"}`}},
		"v": {{ServerID: "v", Kind: models.ListingResource, Ident: "doc://c", Definition: `{"uri":"doc://c"}`}},
	}
	src.Toolsets = []models.Toolset{
		{ID: "star", Slug: "star", Include: models.StringList{"up__*"}, OffersOf: models.StringList{"*"}},
		{ID: "tools", Slug: "tools", Include: models.StringList{"up__*"}},
		{ID: "plain", Slug: "plain", Include: models.StringList{"other__*"}},
		{ID: "named", Slug: "named", OffersOf: models.StringList{"other"}},
	}
	all := []string{"doc://a", "ui://a", "doc://c"}
	for ids, want := range map[string][]string{
		"star": {"doc://a", "ui://a"}, "tools": {"ui://a"}, "plain": nil, "named": {"doc://c"}, "plain star": {"doc://a", "ui://a"}, "named tools": {"ui://a", "doc://c"},
	} {
		v := views.New(&one{gatewaytest.Build(src)}, holds{"ann": {Toolsets: strings.Fields(ids)}}, noKeys{})
		view, err := v.Current(access.Administrator("ann", "p"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, uri := range all {
			if _, err := view.Offers.Resource(uri); err == nil {
				got = append(got, uri)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", ids, got, want)
		}
		listed, _, _ := view.Offers.Page(models.ListingResource, 0)
		if ids == "tools" && string(listed) != "[]" {
			t.Errorf("%s lists %s", ids, listed)
		}
	}
}
