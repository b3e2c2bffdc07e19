package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// commit and date are set at build time, like version. date is that of the
// commit, in RFC 3339. Without them the build information of Go is used.
var commit, date string

// build is the output of `gateway version --json`.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
	Platform string `json:"platform"`
	Go       string `json:"go"`
}

// buildOf returns the build with the settings that the Go command stored.
func buildOf(settings []debug.BuildSetting) build {
	b := build{Version: version, Commit: commit, Date: date, Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if b.Commit != "" {
		return b
	}
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.time":
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Date = at.UTC().Format(time.RFC3339)
			}
		case s.Key == "vcs.modified" && s.Value == "true":
			b.Commit += "-dirty"
		}
	}
	return b
}

// String returns the build on one line.
func (b build) String() string {
	source := ""
	if b.Commit != "" {
		source = fmt.Sprintf(" (%s, %s)", b.Commit, b.Date)
	}
	return fmt.Sprintf("gateway %s%s %s %s", b.Version, source, b.Platform, b.Go)
}

func printVersion(_ context.Context, std streams, args []string) error {
	fs := flags(std, "version")
	asJSON := fs.Bool("json", false, "print JSON")
	if err := parse(fs, args); err != nil {
		return err
	}
	var settings []debug.BuildSetting
	if info, ok := debug.ReadBuildInfo(); ok {
		settings = info.Settings
	}
	b := buildOf(settings)
	if *asJSON {
		return json.NewEncoder(std.out).Encode(b)
	}
	_, err := fmt.Fprintln(std.out, b)
	return err
}
