package typescript_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/schema"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	"mcpgateway/services/typescript/typescripttest"
)

// The labelled sets of the evaluation are schemas.json and edge.json.
var evalFolder = flag.String("eval", "", "folder with the tool schemas for TestEval")

// The minimum results on the real schemas.
const leastRejected = .995

// checkedTool is a tool with calls labelled as valid or invalid.
type checkedTool struct {
	Server       string            `json:"server"`
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	InputSchema  json.RawMessage   `json:"inputSchema"`
	OutputSchema json.RawMessage   `json:"outputSchema,omitempty"`
	Valid        []json.RawMessage `json:"valid,omitempty"`
	Invalid      []json.RawMessage `json:"invalid,omitempty"`
}

type checkedCall struct {
	Tool  int
	Args  json.RawMessage
	Valid bool
	Why   string
}

// outcome counts the compiler's results.
type outcome struct {
	valid, accepted  int
	invalid, refused int
	open             int // unknown arguments that the schema allows and the types reject
	declared         int // errors in the declarations themselves
	bytes            int
	checkedValid     int // valid calls that the validator accepts
	checkedInvalid   int // invalid calls that the validator rejects
}

func (o outcome) String() string {
	return fmt.Sprintf("%d of %d valid calls accepted, %d of %d invalid ones rejected, %d unknown arguments rejected that the schemas allow, %d errors in %d bytes of declarations; the validator accepts %d and rejects %d",
		o.accepted, o.valid, o.refused, o.invalid, o.open, o.declared, o.bytes, o.checkedValid, o.checkedInvalid)
}

func TestEval(t *testing.T) {
	if *evalFolder == "" {
		t.Skip("needs tool schemas: go test ./services/typescript -run TestEval -v -eval FOLDER, where FOLDER is an absolute path")
	}
	for _, set := range []string{"edge.json", "schemas.json"} {
		raw, err := os.ReadFile(filepath.Join(*evalFolder, set))
		if err != nil {
			t.Fatalf("%v: -eval must be the folder that contains schemas.json and edge.json", err)
		}
		o := checkCalls(t, readCheckedTools(t, raw))
		t.Logf("%-13s %v", set, o)
		if o.valid == 0 || o.invalid == 0 {
			t.Errorf("%s: nothing was checked", set)
		}
		if o.declared > 0 || o.accepted < o.valid || o.checkedValid < o.valid || float64(o.checkedInvalid) < leastRejected*float64(o.invalid) || float64(o.refused) < leastRejected*float64(o.invalid) {
			t.Errorf("%s: %v", set, o)
		}
	}
}

func TestTypesAcceptValidCalls(t *testing.T) {
	raw, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	o := checkCalls(t, readCheckedTools(t, raw))
	t.Log(o)
	if o.valid < 60 || o.invalid < 60 {
		t.Errorf("only %d and %d calls were checked", o.valid, o.invalid)
	}
	// Three of the invalid calls have an argument that only the types reject.
	if o.declared > 0 || o.accepted < o.valid || o.refused < o.invalid || o.checkedValid < o.valid || o.checkedInvalid < o.invalid-3 {
		t.Error(o)
	}
}

func readCheckedTools(t *testing.T, raw []byte) []checkedTool {
	t.Helper()
	var tools []checkedTool
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	return tools
}

// checkCalls type-checks the calls of the tools.
func checkCalls(t *testing.T, tools []checkedTool) outcome {
	t.Helper()
	dir := t.TempDir()
	input, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	typescripttest.WriteTestFile(t, filepath.Join(dir, "tools.json"), string(input))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "node", "testdata/accepts.mjs", filepath.Join(dir, "tools.json")).Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var calls []checkedCall
	if err := json.Unmarshal(out, &calls); err != nil {
		t.Fatal(err)
	}
	declared := typescripttest.Declare(t, toolsOf(tools), typescript.Settings{})
	var lines strings.Builder
	for _, c := range calls {
		tool := tools[c.Tool]
		name, _ := json.Marshal(tool.Name)
		args, _ := json.Marshal(c.Args) // also escapes line terminators
		fmt.Fprintf(&lines, "void %s[%s](%s);\n", typescript.Identifier(tool.Server), name, args)
	}
	typescripttest.WriteTestFile(t, filepath.Join(dir, "declarations.ts"), declared.Text)
	typescripttest.WriteTestFile(t, filepath.Join(dir, "calls.ts"), lines.String())
	wrong := map[int]string{}
	o := outcome{bytes: len(declared.Text)}
	for _, e := range typescripttest.CompileTypes(t, dir, "declarations.ts", "calls.ts") {
		if e.File == "calls.ts" {
			wrong[e.Line-1] = e.Text
			continue
		}
		o.declared++
		t.Errorf("error in line %d of the declarations: %s", e.Line, e.Text)
	}
	validator := schema.NewValidator()
	all := toolsOf(tools)
	for i, c := range calls {
		if mismatch := validator.Check(all[c.Tool].Definition, c.Args); c.Valid && mismatch == nil {
			o.checkedValid++
		} else if !c.Valid && c.Why != "invented, open" && mismatch != nil {
			o.checkedInvalid++
		} else if c.Why != "invented, open" {
			t.Logf("the validator disagrees on %s %s: %.300s (%s): %v; %s", tools[c.Tool].Server, tools[c.Tool].Name, c.Args, c.Why, mismatch, validator.UncheckedReason(all[c.Tool].Definition))
		}
		what := fmt.Sprintf("%s %s: %s (%s)", tools[c.Tool].Server, tools[c.Tool].Name, c.Args, c.Why)
		_, refused := wrong[i]
		switch {
		case c.Valid:
			o.valid++
			if refused {
				t.Errorf("valid call rejected: %.600s: %s", what, wrong[i])
			} else {
				o.accepted++
			}
		case c.Why == "invented, open":
			if refused {
				o.open++
			}
		default:
			o.invalid++
			if refused {
				o.refused++
			} else {
				t.Logf("invalid call accepted: %.300s", what)
			}
		}
	}
	return o
}

// toolsOf returns the tools in the form used by a snapshot.
func toolsOf(checked []checkedTool) []*toolset.Tool {
	servers := map[string]*toolset.Server{}
	tools := make([]*toolset.Tool, len(checked))
	for i, c := range checked {
		if servers[c.Server] == nil {
			servers[c.Server] = &toolset.Server{Config: models.Server{Alias: c.Server, Enabled: true}}
		}
		definition, _ := json.Marshal(c)
		full := toolset.JoinName(c.Server, c.Name)
		tools[i] = &toolset.Tool{Name: full, FullName: full, Upstream: c.Name, Server: servers[c.Server], Definition: definition}
	}
	return tools
}
