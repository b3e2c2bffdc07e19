package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildOf(t *testing.T) {
	stored := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.time", Value: "2026-11-22T17:57:43+01:00"}, {Key: "vcs.modified", Value: "true"}}
	tail := " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()
	tests := []struct {
		name, commit, date string
		settings           []debug.BuildSetting
		want               string
	}{
		{"release", "def456", "2026-11-22T00:00:00Z", stored, "gateway dev (def456, 2026-11-22T00:00:00Z)" + tail},
		{"checkout with changes", "", "", stored, "gateway dev (abc123-dirty, 2026-11-22T16:57:43Z)" + tail},
		{"no repository", "", "", nil, "gateway dev" + tail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			commit, date = tt.commit, tt.date
			t.Cleanup(func() { commit, date = "", "" })
			if got := buildOf(tt.settings).String(); got != tt.want {
				t.Errorf("buildOf = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVersionJSON(t *testing.T) {
	code, out, errs := commandLine(t, nil, "", "version", "--json")
	var b build
	if err := json.Unmarshal([]byte(out), &b); code != 0 || err != nil || b.Version != "dev" || !strings.HasPrefix(b.Go, "go1.") || b.Platform == "" {
		t.Errorf("version --json = %d %q %q, %v", code, out, errs, err)
	}
}
