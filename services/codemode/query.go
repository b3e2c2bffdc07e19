package codemode

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"mcpgateway/services/arguments"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
)

// Finder finds the tools of a project that a query asks for;
// *toolsearch.Searcher is one.
type Finder interface {
	Find(ctx context.Context, project *toolset.Snapshot, q toolsearch.Query) (*toolsearch.Found, error)
}

// declarationsSurface is the surface of the cursors of declaration pages.
const declarationsSurface = "tool declarations"

// Declarations answers the built-in tool gateway_listTools. It keeps the whole
// declarations of projects until their snapshots change, in bounded memory. It
// is safe for concurrent use.
type Declarations struct {
	finder Finder

	mu    sync.Mutex
	kept  map[string]*keptDeclarations // by project id
	size  int                          // bytes of all that are kept
	limit int                          // of bytes
	uses  uint64
}

// NewDeclarations returns declarations whose pages finder finds.
func NewDeclarations(finder Finder) *Declarations {
	return &Declarations{finder: finder, kept: map[string]*keptDeclarations{}, limit: maxKeptDeclarations}
}

// Listing is an answer of gateway_listTools. Nobody may change it.
type Listing struct {
	Text       string // of the content block
	Structured []byte // the raw JSON object of structuredContent
}

// List answers gateway_listTools with raw arguments for a principal
// (specification, "Built-in tool gateway_listTools"): without query the whole
// declaration string, narrowed by filter where one is given; with query one
// page of what it finds, as JSON. It returns CODE_MODE_DISABLED,
// INVALID_PARAMETER, CONFLICTING_PARAMETERS, and the faults of
// toolsearch.Searcher.Find.
func (d *Declarations) List(ctx context.Context, project *toolset.Snapshot, principal string, arguments []byte) (*Listing, error) {
	if !project.Project.CodeModeEnabled {
		return nil, fault.New(fault.KindDisabled, fault.CodeCodeModeDisabled, "Code Mode is off in this project")
	}
	a, err := readListArguments(arguments)
	if err != nil {
		return nil, err
	}
	if a.hasQuery {
		return d.page(ctx, project, toolsearch.Query{
			Surface: declarationsSurface, Principal: principal, Text: a.query, Limit: a.limit, Cursor: a.cursor, Continue: a.hasCursor,
		})
	}
	if a.filter == "" {
		whole, err := d.whole(ctx, project)
		if err != nil {
			return nil, err
		}
		return whole.listing, nil
	}
	declared, err := d.Filtered(ctx, project, a.filter)
	if err != nil {
		return nil, err
	}
	return newListing(declared)
}

// Full returns the declarations of every visible tool of a project, which
// nobody may change. It returns the context's error when that ends before.
func (d *Declarations) Full(ctx context.Context, project *toolset.Snapshot) (*typescript.Declared, error) {
	whole, err := d.whole(ctx, project)
	if err != nil {
		return nil, err
	}
	return whole.declared, nil
}

// Filtered returns the declarations of the visible tools that have filter in
// their exported name or description, whatever its case; an empty filter is in
// all of them. Without any there is nothing but the header. It returns the
// context's error when that ends before.
func (d *Declarations) Filtered(ctx context.Context, project *toolset.Snapshot, filter string) (*typescript.Declared, error) {
	if filter == "" {
		return d.Full(ctx, project)
	}
	wanted := query.Fold(filter)
	var tools []*toolset.Tool
	for _, tool := range project.Tools {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if hasText(tool, wanted) {
			tools = append(tools, tool)
		}
	}
	return typescript.Declare(ctx, tools, typescript.SettingsOf(project))
}

// Matches reports whether a filter of Filtered finds a tool.
func Matches(tool *toolset.Tool, filter string) bool {
	return filter == "" || hasText(tool, query.Fold(filter))
}

func hasText(tool *toolset.Tool, folded string) bool {
	if strings.Contains(query.Fold(tool.FullName), folded) || strings.Contains(query.Fold(tool.Name), folded) {
		return true
	}
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return false
	}
	description, _ := definition.String("description")
	return strings.Contains(query.Fold(description), folded)
}

// declarationPage is one page of a query, as JSON.
type declarationPage struct {
	Declarations string `json:"declarations"`
	page.Envelope
}

func (d *Declarations) page(ctx context.Context, project *toolset.Snapshot, q toolsearch.Query) (*Listing, error) {
	found, err := d.finder.Find(ctx, project, q)
	if err != nil {
		return nil, err
	}
	// What was found is declared only if the project's present policy still
	// shows it.
	tools := make([]*toolset.Tool, 0, len(found.Matches))
	for _, m := range found.Matches {
		if tool, err := project.Resolve(m.Tool.Name); err == nil {
			tools = append(tools, tool)
		}
	}
	declared, err := typescript.Declare(ctx, tools, typescript.SettingsOf(project))
	if err != nil {
		return nil, err
	}
	answer := declarationPage{
		Declarations: declared.Text,
		Envelope:     page.Enclose(declared.Tools, found.NextCursor, slices.Concat(found.Warnings, declared.Warnings), found.Unavailable),
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return &Listing{Text: string(raw), Structured: raw}, nil
}

// listArguments are those of gateway_listTools.
type listArguments struct {
	filter    string
	query     string
	hasQuery  bool
	limit     int
	cursor    string
	hasCursor bool
}

func readListArguments(raw []byte) (a listArguments, err error) {
	o, err := arguments.Read(raw, "filter", "query", "limit", "cursor")
	if err != nil {
		return a, err
	}
	filter, text, limit, cursor := o.Get("filter"), o.Get("query"), o.Get("limit"), o.Get("cursor")
	var ok bool
	switch {
	case filter != nil && text != nil:
		return a, arguments.Conflict("query and filter are two ways to narrow the declarations; send one of them")
	case text == nil && (limit != nil || cursor != nil):
		return a, arguments.Conflict("limit and cursor belong to query; without one all declarations come at once")
	case filter != nil:
		if a.filter, ok = rawjson.String(filter); !ok || len(a.filter) > query.MaxBytes {
			return a, fault.Invalid("filter must be a string of at most %d bytes; a tool is declared when its name or description contains it", query.MaxBytes)
		}
		return a, nil
	case text == nil:
		return a, nil
	}
	if a.query, a.hasQuery = rawjson.String(text); !a.hasQuery {
		return a, fault.Invalid("query must be a string")
	}
	if cursor != nil {
		if a.cursor, a.hasCursor = rawjson.String(cursor); !a.hasCursor {
			return a, fault.Invalid("cursor must be a string; leave it out for the first page")
		}
	}
	a.limit, err = page.QueryLimit().Decode(limit)
	return a, err
}
