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
		{`{"args":{}}`, `Unknown argument "args". Did you mean "arguments"?`},
		{`{"args":null}`, `Unknown argument "args". Did you mean "arguments"?`},
		{`{"Arguments":{}}`, `Unknown argument "Arguments". Did you mean "arguments"?`},
		{`{"dry_run":true}`, `Unknown argument "dry_run". Did you mean "dryRun"?`},
		{`{"CODE":""}`, `Unknown argument "CODE". Did you mean "code"?`},
		{`{"timeoutMs":1}`, `Unknown argument "timeoutMs". Did you mean "timeout"?`},
		{`{"toolName":"x"}`, `Unknown argument "toolName". Did you mean "name"?`},
		{`{"params":{}}`, `Unknown argument "params". The arguments are name, arguments, code, input, timeout, dryRun, typecheck`},
		{`{"":1}`, `Unknown argument "". The arguments are name, arguments, code, input, timeout, dryRun, typecheck`},
		{`{"` + long[2:] + `":1}`, `Unknown argument "` + long[2:] + `". The`},
		{`{"` + long + `":1}`, `Unknown argument "` + long + `". The`},
		{`{"` + long + `é":1}`, `Unknown argument "` + long + `…". The`},
		{`{"a\nb":1}`, `Unknown argument "a\nb". The`},
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
