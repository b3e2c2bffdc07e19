package toolset

import (
	"strings"
	"testing"
)

func TestDiffDefinitions(t *testing.T) {
	lines, ok := DiffDefinitions([]byte(`{"name":"x","description":"reads","inputSchema":{"type":"object"}}`), []byte(`{"name":"x","description":"reads and sends","inputSchema":{"type":"object"},"n":1}`))
	var b strings.Builder
	for _, line := range lines {
		b.WriteByte(line.Op)
		b.WriteString(line.Text + "\n")
	}
	want := ` {
   "name": "x",
-  "description": "reads",
+  "description": "reads and sends",
   "inputSchema": {
     "type": "object"
-  }
+  },
+  "n": 1
 }
`
	if !ok || b.String() != want {
		t.Errorf("got %v\n%s", ok, b.String())
	}
	if _, ok := DiffDefinitions([]byte(`{`), []byte(`{}`)); ok {
		t.Error("DiffDefinitions() compared invalid JSON")
	}
	list := func(lines int) []byte {
		return []byte("[" + strings.TrimSuffix(strings.Repeat("1,", lines-2), ",") + "]")
	}
	if _, ok := DiffDefinitions(list(maxDiffLines), []byte(`{}`)); !ok {
		t.Errorf("DiffDefinitions() rejected %d lines", maxDiffLines)
	}
	if _, ok := DiffDefinitions(list(maxDiffLines+1), []byte(`{}`)); ok {
		t.Errorf("DiffDefinitions() compared %d lines", maxDiffLines+1)
	}
}
