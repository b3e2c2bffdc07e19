package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test's own binary has a bill that lists its modules.
func TestWrite(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var documents [2][]byte
	for i := range documents {
		file := filepath.Join(t.TempDir(), "bom.json")
		if err := write(file, "1.2.3", "2026-11-22T18:57:43+01:00", binary); err != nil {
			t.Fatal(err)
		}
		if documents[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(documents[0], documents[1]) {
		t.Error("two documents of one binary differ")
	}
	var b bom
	if err := json.Unmarshal(documents[0], &b); err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Timestamp != "2026-11-22T17:57:43Z" || b.Metadata.Component.Version != "1.2.3" || len(b.Metadata.Component.Hashes) != 1 {
		t.Errorf("metadata = %+v", b.Metadata)
	}
	found := map[string]bool{}
	for _, c := range b.Components {
		found[c.Name] = strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") && (c.Name == "std" || len(c.Hashes) == 1)
	}
	if !found["std"] || !found["github.com/google/uuid"] {
		t.Errorf("components = %+v, want std and github.com/google/uuid", b.Components)
	}
}

func TestWriteRejects(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, out, date, binary string }{
		{"no output", "", "2026-11-22T17:57:43Z", text},
		{"no binary", "x", "2026-11-22T17:57:43Z", ""},
		{"invalid date", "x", "today", text},
		{"missing binary", "x", "2026-11-22T17:57:43Z", text + "-absent"},
		{"no Go binary", "x", "2026-11-22T17:57:43Z", text},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := write(tt.out, "1", tt.date, tt.binary); err == nil {
				t.Error("write = nil, want an error")
			}
		})
	}
}
