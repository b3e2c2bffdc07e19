//go:build conformance

// Package registry validates the registry that editors read against the schemas
// that the official MCP registry publishes.
package registry

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"mcpgateway/cmd/internal/stage"
)

// published is the module that contains the schemas. It is downloaded into the
// module cache.
const published = "github.com/modelcontextprotocol/registry@v1.8.8"

// downloadLimit is the maximum duration of the download.
const downloadLimit = 2 * time.Minute

// schemas are the published schemas of responses.
type schemas struct {
	list, one, missing *jsonschema.Resolved // of the API description
	server             *jsonschema.Resolved // of server.json
	parameters         []string             // of GET /v0.1/servers
}

type parameter struct{ Name string }

// description contains the parts of the API description used by the test.
type description struct {
	Paths map[string]struct {
		Get struct {
			Parameters []parameter
			Responses  map[string]struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
	}
	Components struct{ Schemas json.RawMessage }
}

// download returns the published schemas.
func download(t *testing.T) *schemas {
	t.Helper()
	var module struct{ Dir string }
	decode(t, run(t, "go", "mod", "download", "-json", published), &module)
	var api description
	toJSON := `process.stdout.write(JSON.stringify(require("yaml").parse(require("fs").readFileSync(process.argv[1], "utf8"))))`
	decode(t, run(t, "node", "-e", toJSON, filepath.Join(module.Dir, "docs", "reference", "api", "openapi.yaml")), &api)
	get := func(path, status string) *jsonschema.Resolved {
		t.Helper()
		raw := api.Paths[path].Get.Responses[status].Content["application/json"].Schema
		if raw == nil {
			t.Fatalf("%s doesn't describe GET %s with status %s", published, path, status)
		}
		return resolve(t, raw, api.Components.Schemas)
	}
	s := &schemas{
		list: get("/v0.1/servers", "200"), one: get("/v0.1/servers/{serverName}/versions/{version}", "200"),
		missing: get("/v0.1/servers/{serverName}/versions/{version}", "404"),
	}
	for _, p := range api.Paths["/v0.1/servers"].Get.Parameters {
		s.parameters = append(s.parameters, p.Name)
	}
	raw, err := os.ReadFile(filepath.Join(module.Dir, "internal", "validators", "schemas", "2025-12-11.json"))
	if err != nil {
		t.Fatal(err)
	}
	s.server = resolve(t, raw, nil)
	return s
}

func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	out, err := stage.Must(t.Context(), stage.Program{Name: program, Path: program, Args: args, Env: os.Environ()}, downloadLimit)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(out)
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%v: %.500s", err, raw)
	}
}

// resolve returns the validator of a schema that refers to components of the API
// description, which may be nil.
func resolve(t *testing.T, raw, components json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var root map[string]json.RawMessage
	decode(t, raw, &root)
	if components != nil {
		root["$defs"] = components
	}
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	schema := &jsonschema.Schema{}
	decode(t, []byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), schema)
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// violations returns what is wrong with a value. The validator ignores format,
// so addresses and times are checked here.
func violations(s *jsonschema.Resolved, value any) []string {
	var found []string
	if err := s.Validate(value); err != nil {
		found = append(found, err.Error())
	}
	walk("", value, func(path, member, text string) {
		switch {
		case slices.Contains([]string{"$schema", "websiteUrl", "src", "registryBaseUrl"}, member), member == "url" && strings.HasSuffix(path, "repository.url"):
			if u, err := url.Parse(text); err != nil || !u.IsAbs() || strings.ContainsFunc(text, func(r rune) bool { return r > '~' || r <= ' ' || strings.ContainsRune("\"<>\\^`{|}", r) }) {
				found = append(found, path+" is not a URI: "+text)
			}
		case strings.HasSuffix(member, "At"):
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				found = append(found, path+" is not a date-time: "+text)
			}
		}
	})
	return found
}

// walk calls visit for every text member of a value.
func walk(path string, value any, visit func(path, member, text string)) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			walk(path, element, visit)
		}
	case map[string]any:
		for member, inner := range v {
			if text, ok := inner.(string); ok {
				visit(path+"."+member, member, text)
			}
			walk(path+"."+member, inner, visit)
		}
	}
}
