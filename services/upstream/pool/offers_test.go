package pool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/upstreamtest"
)

// offering returns the methods of an upstream that responds to each list method
// with the given raw value.
func offering(lists map[string]string) map[string]upstreamtest.Handler {
	methods := map[string]upstreamtest.Handler{}
	for method, result := range lists {
		methods[method] = func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(result) }
	}
	return methods
}

func allOffers() map[string]string {
	return map[string]string{
		"prompts/list":             `{"prompts":[{"name":"p1", "x":1e400},{"name":"p2"}]}`,
		"resources/list":           `{"resources":[{"uri":"test://r","name":"r"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"test://{id}" ,"name":"t"}]}`,
	}
}

func TestListOffersInEveryEra(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: everything, Methods: offering(allOffers())})
			p, to := newPool(t), target(s.Start(t))
			for kind, want := range map[models.ListingKind][]models.Listing{
				models.ListingPrompt: {
					{ServerID: "srv", Kind: models.ListingPrompt, Ident: "p1", Definition: `{"name":"p1", "x":1e400}`},
					{ServerID: "srv", Kind: models.ListingPrompt, Ident: "p2", Position: 1, Definition: `{"name":"p2"}`},
				},
				models.ListingResource: {{ServerID: "srv", Kind: models.ListingResource, Ident: "test://r", Definition: `{"uri":"test://r","name":"r"}`}},
				models.ListingTemplate: {{ServerID: "srv", Kind: models.ListingTemplate, Ident: "test://{id}", Definition: `{"uriTemplate":"test://{id}" ,"name":"t"}`}},
			} {
				got, warnings, err := p.ListOffers(testContext(t), to, kind)
				if err != nil || len(warnings) != 0 {
					t.Errorf("%s: warnings %q, %v", kind, warnings, err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s (-want +got):\n%s", kind, d)
				}
			}
		})
	}
}

func TestListOffersChecksCapability(t *testing.T) {
	kinds := []models.ListingKind{models.ListingPrompt, models.ListingResource, models.ListingTemplate}
	for capabilities, want := range map[string][]int{
		`{}`: {0, 0, 0}, `{"tools":{}}`: {0, 0, 0}, `{"prompts":{}}`: {1, 0, 0}, `{"resources":{"subscribe":true}}`: {0, 1, 1},
		`{"prompts":null,"resources":{}}`: {0, 1, 1}, everything: {1, 1, 1},
	} {
		s := upstreamtest.New(upstreamtest.Options{Capabilities: capabilities})
		p, to := newPool(t), target(s.Start(t))
		var requested []int
		for _, kind := range kinds {
			before := len(s.Requests())
			got, warnings, err := p.ListOffers(testContext(t), to, kind) // the response is -32601, so it has none
			if err != nil || len(got)+len(warnings) != 0 {
				t.Errorf("%s: %v, warnings %q, %v", capabilities, got, warnings, err)
			}
			n := 0
			for _, r := range s.Requests()[before:] {
				if strings.HasSuffix(r.Method, "/list") {
					n++
				}
			}
			requested = append(requested, n)
		}
		if !slices.Equal(requested, want) {
			t.Errorf("%s: requests %v, want %v", capabilities, requested, want)
		}
	}
}

func TestOmittedOffers(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n/2) + strings.Repeat("e", n%2) }
	for _, tc := range []struct {
		name    string
		kind    models.ListingKind
		list    string
		want    []string
		warning string
	}{
		{"valid", models.ListingPrompt, `[{"name":"a"},{"name":"b"}]`, []string{"a", "b"}, ""},
		{"no object", models.ListingPrompt, `[null,{"name":"a"},"x"]`, []string{"a"}, "prompt 3 was omitted: it is not an object"},
		{"no name", models.ListingPrompt, `[{"title":"x"}]`, nil, "prompt 1 was omitted: it has no name"},
		{"duplicate name", models.ListingPrompt, `[{"name":"a"},{"name":"\u0061"}]`, []string{"a"}, `prompt "a" was omitted: another prompt has the same name`},
		{"task support", models.ListingPrompt, `[{"name":"a","execution":{"taskSupport":"required"}}]`, []string{"a"}, ""},
		{"no uri", models.ListingResource, `[{"name":"a"}]`, nil, "resource 1 was omitted: it has no uri"},
		{"duplicate uri", models.ListingResource, `[{"uri":"a:","name":"1"},{"uri":"a:","name":"2"}]`, []string{"a:"}, "another resource has the same uri"},
		{"duplicate name with another uri", models.ListingResource, `[{"uri":"a:","name":"1"},{"uri":"b:","name":"1"}]`, []string{"a:", "b:"}, ""},
		{"no template", models.ListingTemplate, `[{"uri":"a:"}]`, nil, "resource template 1 was omitted: it has no uriTemplate"},
		{"1,999 bytes", models.ListingResource, `[{"uri":"` + long(1999) + `"}]`, []string{long(1999)}, ""},
		{"2,000 bytes", models.ListingResource, `[{"uri":"` + long(2000) + `"}]`, []string{long(2000)}, ""},
		{"2,001 bytes", models.ListingResource, `[{"uri":"` + long(2001) + `"}]`, nil, "longer than 2000 bytes"},
		{"null character", models.ListingResource, `[{"uri":"a\u0000"}]`, nil, "null character"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result := `{"prompts":` + tc.list + `,"resources":` + tc.list + `,"resourceTemplates":` + tc.list + `}`
			s := upstreamtest.New(upstreamtest.Options{Capabilities: everything, Methods: offering(map[string]string{
				"prompts/list": result, "resources/list": result, "resources/templates/list": result,
			})})
			got, warnings, err := newPool(t).ListOffers(testContext(t), target(s.Start(t)), tc.kind)
			if err != nil {
				t.Fatal(err)
			}
			var idents []string
			for _, l := range got {
				idents = append(idents, l.Ident)
			}
			if all := strings.Join(warnings, "\n"); !slices.Equal(idents, tc.want) || (tc.warning == "") != (all == "") || !strings.Contains(all, tc.warning) {
				t.Errorf("got %q, warnings %q", idents, warnings)
			}
		})
	}
}

func TestListOffersPages(t *testing.T) {
	pages := func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		var p struct{ Cursor string }
		_ = json.Unmarshal(c.Params, &p)
		if len(p.Cursor) >= 3 {
			return upstreamtest.JSON(`{"resources":[{"uri":"last"}]}`)
		}
		return upstreamtest.JSON(fmt.Sprintf(`{"resources":[{"uri":"u%s"}],"nextCursor":"%sx"}`, p.Cursor, p.Cursor))
	}
	s := upstreamtest.New(upstreamtest.Options{Capabilities: everything, Methods: map[string]upstreamtest.Handler{"resources/list": pages}})
	got, warnings, err := newPool(t).ListOffers(testContext(t), target(s.Start(t)), models.ListingResource)
	if err != nil || len(got) != 4 || got[3].Ident != "last" || got[3].Position != 3 || len(warnings) != 0 {
		t.Errorf("got %v, warnings %q, %v", got, warnings, err)
	}
}

func TestListOffersFails(t *testing.T) {
	for list, code := range map[string]fault.Code{`{"resources":{}}`: fault.CodeUpstreamInvalidResponse, `{"resources":`: fault.CodeUpstreamInvalidResponse} {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Capabilities: everything, Methods: offering(map[string]string{"resources/list": list})})
		_, _, err := newPool(t).ListOffers(testContext(t), target(s.Start(t)), models.ListingResource)
		wantFault(t, err, code)
	}
	_, _, err := newPool(t).ListOffers(testContext(t), target("http://127.0.0.1:1/mcp"), models.ListingPrompt)
	wantFault(t, err, fault.CodeUpstreamUnavailable)
}
