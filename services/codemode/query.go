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

// Finder finds the tools of a project that match a query. Implemented by
// *toolsearch.Searcher.
type Finder interface {
	Find(ctx context.Context, project *toolset.Snapshot, q toolsearch.Query) (*toolsearch.Result, error)
}

// declarationsSurface identifies the cursors of declaration pages.
const declarationsSurface = "tool declarations"

// Declarations implements the built-in tool gateway_listTools. It caches the
// declarations of whole projects until their snapshots change, in bounded
// memory. It is safe for concurrent use.
type Declarations struct {
	finder Finder

	mu    sync.Mutex
	kept  map[string]*declarationCache // by toolset.Snapshot.Key
	size  int                          // total bytes in kept
	limit int                          // maximum size, in bytes
	uses  uint64
}

// NewDeclarations returns declarations that use finder for queries.
func NewDeclarations(finder Finder) *Declarations {
	return &Declarations{finder: finder, kept: map[string]*declarationCache{}, limit: maxKeptDeclarations}
}

// Listing is a result of gateway_listTools. It must not be modified.
type Listing struct {
	Text       string // of the content block
	Structured []byte // the raw JSON object of structuredContent
}

// List handles gateway_listTools with raw arguments for a caller
// (specification, "Built-in tool gateway_listTools"). Without query it returns
// all declarations as one string, or those that match filter. With query it
// returns one page of matches as JSON. Errors are CODE_MODE_DISABLED,
// INVALID_PARAMETER, CONFLICTING_PARAMETERS, and the faults of
// toolsearch.Searcher.Find.
func (d *Declarations) List(ctx context.Context, project *toolset.Snapshot, caller toolsearch.Caller, arguments []byte) (*Listing, error) {
	if !project.Project.CodeModeEnabled {
		return nil, fault.New(fault.KindDisabled, fault.CodeCodeModeDisabled, "Code Mode is off for this project. An administrator can turn it on in the project settings.")
	}
	a, err := readListArguments(arguments)
	if err != nil {
		return nil, err
	}
	if a.hasQuery {
		return d.page(ctx, project, toolsearch.Query{
			Surface: declarationsSurface, Caller: caller, Text: a.query, Limit: a.limit, Cursor: a.cursor, Continue: a.hasCursor,
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

// Full returns the declarations of every visible tool of a project. The result
// must not be modified. Full returns the context's error if the context ends
// first.
func (d *Declarations) Full(ctx context.Context, project *toolset.Snapshot) (*typescript.Declared, error) {
	whole, err := d.whole(ctx, project)
	if err != nil {
		return nil, err
	}
	return whole.declared, nil
}

// maxCheckedDeclarations is the maximum size of the declarations of a whole
// project that a type check reads, in bytes.
const maxCheckedDeclarations = 128 << 10

// ForCode returns the declarations for a type check of code. In large projects,
// only the servers whose names occur in the code have types; the others are any.
// The same applies to servers with too many tools. It returns the context's
// error if the context ends first.
func (d *Declarations) ForCode(ctx context.Context, project *toolset.Snapshot, code string) (string, error) {
	declared, err := d.Full(ctx, project)
	if err != nil {
		return "", err
	}
	if len(declared.Text) <= maxCheckedDeclarations {
		return declared.Text, nil
	}
	var named []*toolset.Tool
	for _, tool := range toolset.ForModels(project.Tools) {
		if strings.Contains(code, typescript.Identifier(tool.Server.Config.Alias)) {
			named = append(named, tool)
		}
	}
	if declared, err = typescript.Declare(ctx, named, typescript.SettingsOf(project)); err != nil {
		return "", err
	}
	if declared.Tools < len(named) {
		if declared, err = typescript.Declare(ctx, nil, typescript.SettingsOf(project)); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	b.WriteString(declared.Text)
	last := ""
	for _, tool := range toolset.ForModels(project.Tools) { // the tools of a server follow each other
		alias := tool.Server.Config.Alias
		if alias == last {
			continue
		}
		last = alias
		if constant := "declare const " + typescript.Identifier(alias) + ":"; !strings.Contains(b.String(), constant) {
			b.WriteString(constant + " any;\n")
		}
	}
	return b.String(), nil
}

// Filtered returns the declarations of the visible tools whose exported name or
// description contains filter, ignoring case. An empty filter matches all.
// Without matches the result has only the header. Filtered returns the
// context's error if the context ends first.
func (d *Declarations) Filtered(ctx context.Context, project *toolset.Snapshot, filter string) (*typescript.Declared, error) {
	if filter == "" {
		return d.Full(ctx, project)
	}
	wanted := query.Fold(filter)
	var tools []*toolset.Tool
	for _, tool := range toolset.ForModels(project.Tools) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if hasText(tool, wanted) {
			tools = append(tools, tool)
		}
	}
	return typescript.Declare(ctx, tools, typescript.SettingsOf(project))
}

// Matches reports whether filter matches a tool, as in Filtered.
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
	// Declare only tools that the project's current policy still shows.
	tools := make([]*toolset.Tool, 0, len(found.Matches))
	for _, m := range found.Matches {
		if tool, err := project.Resolve(m.Tool.Name); err == nil && !tool.App.Only {
			tools = append(tools, tool)
		}
	}
	declared, err := typescript.Declare(ctx, tools, typescript.SettingsOf(project))
	if err != nil {
		return nil, err
	}
	answer := declarationPage{
		Declarations: declared.Text,
		Envelope:     page.NewEnvelope(declared.Tools, found.NextCursor, slices.Concat(found.Warnings, declared.Warnings), found.Unavailable),
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return &Listing{Text: string(raw), Structured: raw}, nil
}

// listArguments are the arguments of gateway_listTools.
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
		return a, arguments.Conflict("Send either query or filter, not both.")
	case text == nil && (limit != nil || cursor != nil):
		return a, arguments.Conflict("limit and cursor require query. Without query all declarations are returned at once.")
	case filter != nil:
		if a.filter, ok = rawjson.String(filter); !ok || len(a.filter) > query.MaxBytes {
			return a, fault.Invalid("filter must be a string of at most %d bytes. It selects the tools whose name or description contains it.", query.MaxBytes)
		}
		return a, nil
	case text == nil:
		return a, nil
	}
	if a.query, a.hasQuery = rawjson.String(text); !a.hasQuery {
		return a, fault.Invalid("query must be a string.")
	}
	if cursor != nil {
		if a.cursor, a.hasCursor = rawjson.String(cursor); !a.hasCursor {
			return a, fault.Invalid("cursor must be a string. Leave it out to get the first page.")
		}
	}
	a.limit, err = page.QueryLimit().Decode(limit)
	return a, err
}
