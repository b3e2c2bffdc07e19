package toolsearch

import (
	"strings"
	"unicode/utf8"

	"mcpgateway/services/arguments"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/rawjson"
)

// taskArguments are the arguments of a task search.
type taskArguments struct {
	task          string
	server        string // empty if not given
	limit, offset int
	includeSchema bool
}

// queryArguments are the arguments of a query search.
type queryArguments struct {
	query         string
	limit         int
	cursor        string
	hasCursor     bool
	includeSchema bool
}

// readArguments returns the arguments of one of the two modes (spec, "Built-in
// tool gateway_searchMcpForTask"). It returns INVALID_PARAMETER, also for
// unknown arguments, or CONFLICTING_PARAMETERS.
func readArguments(raw []byte) (*taskArguments, *queryArguments, error) {
	o, err := arguments.Read(raw, "task", "query", "server", "limit", "offset", "cursor", "includeSchema")
	if err != nil {
		return nil, nil, err
	}
	has := func(name string) bool { return o.Get(name) != nil }
	switch {
	case has("task") && has("query"):
		return nil, nil, arguments.Conflict("task and query are separate modes. Send only one of them.")
	case has("task"):
		if has("cursor") {
			return nil, nil, arguments.Conflict("cursor requires query. Use offset to continue a task search.")
		}
		task, err := readTask(o)
		return task, nil, err
	case has("query"):
		if has("server") {
			return nil, nil, arguments.Conflict("server cannot be combined with query. Write server:ALIAS in the query.")
		}
		if has("offset") {
			return nil, nil, arguments.Conflict("offset cannot be combined with query. Send the cursor of the previous page.")
		}
		query, err := readQuery(o)
		return nil, query, err
	}
	return nil, nil, fault.Invalid("Send task, a description of your goal, or query, terms that the tool must contain.")
}

func readTask(o *rawjson.Object) (*taskArguments, error) {
	var a taskArguments
	var ok bool
	if a.task, ok = o.String("task"); !ok {
		return nil, fault.Invalid("task must be a string.")
	}
	switch {
	case strings.TrimSpace(a.task) == "":
		return nil, fault.Invalid("task must not be empty. Describe what you want to do.")
	case len(a.task) > MaxTaskBytes:
		return nil, fault.Invalid("task has %d bytes; the maximum is %d. Shorten it.", len(a.task), MaxTaskBytes)
	}
	if n := utf8.RuneCountInString(a.task); n > MaxTaskRunes {
		return nil, fault.Invalid("task has %d characters; the maximum is %d. Shorten it.", n, MaxTaskRunes)
	}
	if raw := o.Get("server"); raw != nil {
		if a.server, ok = rawjson.String(raw); !ok {
			return nil, fault.Invalid("server must be the alias of a server, as a string.")
		}
		if a.server == "" {
			return nil, fault.Invalid("server must not be empty. Omit it to search all servers.")
		}
	}
	var err error
	if a.limit, err = taskLimit().Decode(o.Get("limit")); err != nil {
		return nil, err
	}
	if a.offset, err = taskOffset().Decode(o.Get("offset")); err != nil {
		return nil, err
	}
	a.includeSchema, err = readFlag(o, "includeSchema")
	return &a, err
}

func readQuery(o *rawjson.Object) (*queryArguments, error) {
	var a queryArguments
	var ok bool
	if a.query, ok = o.String("query"); !ok {
		return nil, fault.Invalid("query must be a string.")
	}
	if raw := o.Get("cursor"); raw != nil {
		if a.cursor, ok = rawjson.String(raw); !ok {
			return nil, fault.Invalid("cursor must be a string. Omit it for the first page.")
		}
		a.hasCursor = true
	}
	var err error
	if a.limit, err = page.QueryLimit().Decode(o.Get("limit")); err != nil {
		return nil, err
	}
	a.includeSchema, err = readFlag(o, "includeSchema")
	return &a, err
}

func readFlag(o *rawjson.Object, name string) (bool, error) {
	switch raw := o.Get(name); string(raw) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fault.Invalid("%s must be true or false.", name)
}
