package arguments_test

import (
	"strings"
	"testing"

	"mcpgateway/services/arguments"
	"mcpgateway/services/fault"
)

func TestReadUnknown(t *testing.T) {
	known := []string{"name", "arguments", "code", "input", "timeout", "dryRun", "typecheck"}
	long := strings.Repeat("é", 64)
	for _, tt := range []struct{ raw, want string }{
		{`{"args":{}}`, `unknown argument "args", did you mean "arguments"?`},
		{`{"args":null}`, `unknown argument "args", did you mean "arguments"?`},
		{`{"Arguments":{}}`, `unknown argument "Arguments", did you mean "arguments"?`},
		{`{"dry_run":true}`, `unknown argument "dry_run", did you mean "dryRun"?`},
		{`{"CODE":""}`, `unknown argument "CODE", did you mean "code"?`},
		{`{"timeoutMs":1}`, `unknown argument "timeoutMs", did you mean "timeout"?`},
		{`{"toolName":"x"}`, `unknown argument "toolName", did you mean "name"?`},
		{`{"params":{}}`, `unknown argument "params": the arguments are name, arguments, code, input, timeout, dryRun, typecheck`},
		{`{"":1}`, `unknown argument "": the arguments are name, arguments, code, input, timeout, dryRun, typecheck`},
		{`{"` + long[2:] + `":1}`, `unknown argument "` + long[2:] + `": the`},
		{`{"` + long + `":1}`, `unknown argument "` + long + `": the`},
		{`{"` + long + `é":1}`, `unknown argument "` + long + `…": the`},
		{`{"a\nb":1}`, `unknown argument "a\nb": the`},
		{`{"code":"","code":""}`, `Arguments must be a JSON object without duplicate names.`},
		{`[]`, `Arguments must be a JSON object without duplicate names.`},
		{`null`, `Arguments must be a JSON object without duplicate names.`},
	} {
		_, err := arguments.Read([]byte(tt.raw), known...)
		if f := fault.From(err); err == nil || f.Code != fault.CodeInvalidParameter || !strings.HasPrefix(f.Message, tt.want) {
			t.Errorf("Read(%.80s) = %v, want %s", tt.raw, err, tt.want)
		}
	}
}

func TestReadNullIsAbsent(t *testing.T) {
	for _, raw := range []string{``, `{}`, `{"task":null}`, `{ "task" : null , "limit":null}`} {
		if o, err := arguments.Read([]byte(raw), "task", "limit"); err != nil || o.Len() != 0 {
			t.Errorf("Read(%s) = %s, %v, want no arguments", raw, o.Bytes(), err)
		}
	}
	o, err := arguments.Read([]byte(`{"task":"x","limit":null}`), "task", "limit")
	if err != nil || string(o.Get("task")) != `"x"` || o.Get("limit") != nil {
		t.Errorf("Read = %s, %v", o.Bytes(), err)
	}
}
