package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reference is a page of the documentation that lists everything of a kind.
type reference struct {
	page     string
	declared func(*testing.T) []string      // from the code
	listed   func(markdown string) []string // from the page
}

// references returns the pages that must be complete.
func references() map[string]reference {
	return map[string]reference{
		"error codes":   {"errors.md", declaredCodes, captured(`(?m)^### ([A-Z][A-Z0-9_]+)$`)},
		"settings":      {"configuration.md", declaredSettings, listedSettings},
		"commands":      {"commands.md", declaredCommands, listedCommands},
		"metrics":       {"metrics.md", declaredMetrics, captured("(?m)^\\| `(gateway_[a-z_]+)` \\|")},
		"audit actions": {"audit-events.md", declaredActions, listedActions},
		"events":        {"webhooks.md", declaredEvents, listedEvents},
		"operations":    {"api.md", declaredOperations, listedOperations},
		"catalog keys":  {"catalog-api.md", declaredCatalogKeys, listedCatalogKeys},
	}
}

func TestDocsAreComplete(t *testing.T) {
	for name, r := range references() {
		t.Run(name, func(t *testing.T) {
			declared, listed := r.declared(t), r.listed(readDocs(t, r.page))
			if len(declared) < 10 {
				t.Errorf("%d %s are declared, want at least 10: %q", len(declared), name, declared)
			}
			if missing := without(declared, listed); len(missing) > 0 {
				t.Errorf("%s lacks %q", r.page, missing)
			}
			if stale := without(listed, declared); len(stale) > 0 {
				t.Errorf("%s has %q, which the code doesn't", r.page, stale)
			}
		})
	}
}

// Each entry that is removed from a page must be reported.
func TestDocsLacksAreFound(t *testing.T) {
	for name, r := range references() {
		t.Run(name, func(t *testing.T) {
			markdown, declared := readDocs(t, r.page), r.declared(t)
			for _, entry := range declared {
				last := entry[strings.LastIndexByte(entry, ' ')+1:]
				var kept []string
				for line := range strings.Lines(markdown) {
					if !strings.Contains(lineOfEntry(line), last) {
						kept = append(kept, line)
					}
				}
				if missing := without(declared, r.listed(strings.Join(kept, ""))); !slices.Contains(missing, entry) {
					t.Errorf("%s without %q isn't reported", r.page, entry)
				}
			}
		})
	}
}

// lineOfEntry returns the line as entries name themselves: parameters of paths
// have no name.
func lineOfEntry(line string) string { return pathParameter.ReplaceAllString(line, "{}") }

// without returns the elements of all that are not in some, without duplicates.
func without(all, some []string) []string {
	rest := map[string]bool{}
	for _, s := range all {
		rest[s] = true
	}
	for _, s := range some {
		delete(rest, s)
	}
	return slices.Sorted(maps.Keys(rest))
}

func readDocs(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "views", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shipped returns the source of the shipped Go files below a folder of the
// module, by path.
func shipped(t *testing.T, folder string) map[string]string {
	t.Helper()
	sources := map[string]string{}
	err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_templ.go") {
			return err
		}
		source, err := os.ReadFile(path) //nolint:gosec // a file of this repository
		sources[path] = string(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// captured returns a function that finds what the pattern's first group
// matches.
func captured(pattern string) func(string) []string {
	re := regexp.MustCompile(pattern)
	return func(text string) []string {
		var found []string
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		return found
	}
}

// inSources returns what the pattern's first group matches in the shipped
// files of a folder.
func inSources(t *testing.T, folder, pattern string) []string {
	find := captured(pattern)
	var found []string
	for _, source := range shipped(t, folder) {
		found = append(found, find(source)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// declaredCodes returns the codes of faults and warnings.
func declaredCodes(t *testing.T) []string {
	const constant = `(?m)^\s*(?:const )?(?:[cC]ode|[wW]arn)\w*\s+(?:(?:fault\.)?Code )?\s*= "([A-Z][A-Z0-9_]+)"`
	return slices.Concat(inSources(t, "services", constant), inSources(t, "routes", constant))
}

func declaredSettings(t *testing.T) []string {
	return slices.Concat(inSources(t, "services/config", `env:"(GATEWAY_[A-Z0-9_]+)"`), inSources(t, "services/config", `(OTEL_[A-Z0-9_]*[A-Z0-9])`))
}

// listedSettings returns the variables in the first cells of tables.
func listedSettings(markdown string) []string {
	return captured("`((?:GATEWAY|OTEL)_[A-Z0-9_]+)`")(strings.Join(captured(`(?m)^\| ([^|]+) \|`)(markdown), "\n"))
}

func declaredMetrics(t *testing.T) []string {
	var names []string
	for _, name := range inSources(t, "services/metrics", `describe\("([a-z_]+)"`) {
		names = append(names, "gateway_"+name)
	}
	return names
}

// declaredActions returns the actions that services record: literals such as
// "key.created", and the forms that some services complete.
func declaredActions(t *testing.T) []string {
	var actions []string
	for path, source := range shipped(t, "services") {
		if strings.HasSuffix(path, "services/outbox/kinds.go") {
			continue // events that are not audit entries
		}
		if !strings.Contains(source, "activity.Entry") && !strings.Contains(source, "udit") && !strings.Contains(source, "ntry(") && !strings.Contains(source, ".record(") && !strings.Contains(source, "ction") {
			continue
		}
		actions = append(actions, captured(`"([a-z]+\.[a-z_]*(?:ed|en|wn|_all|_overage))"`)(source)...)
		for _, object := range captured(`"([a-z]+\.)" ?\+ ?\w+\[action\]`)(source) {
			actions = append(actions, object+"created", object+"updated", object+"deleted")
		}
		for _, action := range captured(`\bentry\("([a-z_]+)"`)(source) {
			if strings.Contains(path, "oauthclient") {
				action = "connection." + action
			}
			actions = append(actions, action)
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// listedActions returns the actions in the tables below the heading Access,
// the first one with actions.
func listedActions(markdown string) []string {
	_, tables, _ := strings.Cut(markdown, "\n## Access\n")
	return captured("`([a-z_.]+)`")(strings.Join(captured("(?m)^\\| ([^|]+) \\|")(tables), "\n"))
}

// declaredEvents returns the kinds of events that are not audit entries.
func declaredEvents(t *testing.T) []string {
	return inSources(t, "services/outbox/kinds.go", `"([a-z]+\.[a-z_]+)"`)
}

func listedEvents(markdown string) []string {
	return captured("(?m)^\\| `([a-z]+\\.[a-z_]+)` \\|")(markdown)
}

var pathParameter = regexp.MustCompile(`\{[A-Za-z]+\}`)

func TestReadmeLinksEveryDocsPage(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "views", "docs", "*.md"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		if link := "(views/docs/" + filepath.Base(page) + ")"; !strings.Contains(string(readme), link) {
			t.Errorf("README.md has no link %s", link)
		}
	}
}

// declaredOperations returns the operations of openapi.json.
func declaredOperations(t *testing.T) []string {
	text, err := os.ReadFile(filepath.Join("..", "..", "routes", "api", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var operations []string
	for path, methods := range document.Paths {
		for method := range methods {
			operations = append(operations, strings.ToUpper(method)+" "+pathParameter.ReplaceAllString(path, "{}"))
		}
	}
	return operations
}

func listedOperations(markdown string) []string {
	var operations []string
	for _, o := range captured("`((?:GET|POST|PATCH|PUT|DELETE) /(?:api|v0\\.1|views)/[^` ?]*)`")(markdown) {
		operations = append(operations, pathParameter.ReplaceAllString(o, "{}"))
	}
	return operations
}

// declaredCommands returns the commands of the help, their subcommands and
// their flags, which it asks each one for.
// declaredCatalogKeys returns the keys of rows in catalog files.
func declaredCatalogKeys(t *testing.T) []string {
	t.Helper()
	const tag = "`json:\"([A-Za-z]+)"
	keys := slices.Concat(inSources(t, "services/catalog/sources/item.go", tag), inSources(t, "models/catalog_package.go", tag))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func listedCatalogKeys(markdown string) []string {
	_, section, _ := strings.Cut(markdown, "\n## Import file\n")
	var keys []string
	for _, cell := range captured("(?m)^\\| (`[^|]+`) \\|")(section) {
		keys = append(keys, captured("`([A-Za-z]+)`")(cell)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func declaredCommands(t *testing.T) []string {
	var all []string
	add := func(command string, args ...string) {
		code, out, errs := commandLine(t, surroundings(t), "", append(args, "-h")...)
		if code != 0 || !strings.HasPrefix(out, "Usage: gateway ") {
			t.Errorf("gateway %s -h = %d %q %q, want its usage", strings.Join(args, " "), code, out, errs)
		}
		for _, flag := range captured(`(?m)^  -([a-z-]+)`)(out) {
			if len(flag) > 1 {
				flag = "-" + flag
			}
			all = append(all, command+" -"+flag)
		}
	}
	for _, name := range order {
		command := "gateway " + name
		all = append(all, command)
		add(command, name)
		for _, verb := range subcommands(commands()[name].usage) {
			all = append(all, command+" "+verb)
			add(command, name, verb)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// subcommands returns the subcommands in a usage such as "keys create|list" or
// "admin create --email E | setup-link".
func subcommands(usage string) []string {
	var verbs []string
	words := strings.Fields(usage)
	for i, word := range words {
		if i == 1 || i > 1 && words[i-1] == "|" {
			for verb := range strings.SplitSeq(word, "|") {
				if regexp.MustCompile(`^[a-z][a-z-]+$`).MatchString(verb) {
					verbs = append(verbs, verb)
				}
			}
		}
	}
	return verbs
}

// listedCommands returns the commands with a heading, the subcommands in the
// blocks below it, and the flags in the first cells of its tables.
func listedCommands(markdown string) []string {
	var all []string
	for _, section := range strings.Split(markdown, "\n## gateway ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		command := "gateway " + name
		all = append(all, command)
		for _, verb := range captured(`(?m)^` + command + ` ([a-z][a-z-]+)`)(body) {
			all = append(all, command+" "+verb)
		}
		for _, flag := range captured("(?m)^\\| `(--?[a-z-]+)")(body) {
			all = append(all, command+" "+flag)
		}
	}
	return all
}

// The files in the root of the repository are read on forges: their links to
// files must hold.
func TestLinksOfRootFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil || len(files) < 4 {
		t.Fatalf("Glob = %q, %v, want at least 4 files", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a file of this repository
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range captured(`\]\(([^)]+)\)`)(string(text)) {
			path, _, _ := strings.Cut(target, "#")
			if strings.Contains(target, "://") || path == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(file), target, err)
			}
		}
		if name := filepath.Base(file); name == "README.md" && len(text) > 9000 {
			t.Errorf("%s has %d bytes, want at most 9000", name, len(text))
		}
	}
}
