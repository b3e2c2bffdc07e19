package files_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/trusted"
	"mcpgateway/services/runners/wire"
)

// directory returns a directory that only this user can write.
func directory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, format files.Format, contents ...string) (*files.Set, error) {
	t.Helper()
	dir := directory(t)
	var paths []string
	for i, content := range contents {
		paths = append(paths, write(t, dir, fmt.Sprintf("%d.json", i), content))
	}
	return files.Read(paths, format)
}

func mustRead(t *testing.T, format files.Format, contents ...string) *files.Set {
	t.Helper()
	set, err := read(t, format, contents...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func names(set *files.Set) (programs, remote []string) {
	for _, e := range set.Programs {
		programs = append(programs, e.Name+" "+e.Program+" "+strings.Join(e.Args, " "))
	}
	for _, r := range set.Remote {
		remote = append(remote, r.Name)
	}
	return programs, remote
}

func TestFilesOfClients(t *testing.T) {
	for name, c := range map[string]struct {
		content          string
		programs, remote []string
	}{
		"mcpServers":   {`{"mcpServers":{"a":{"command":"npx","args":["-y","x"]},"b":{"url":"http://127.0.0.1:9/mcp"}}}`, []string{"a npx -y x"}, []string{"b"}},
		"VS Code":      {`{"inputs":[],"servers":{"a":{"type":"stdio","command":"uvx","args":["x"]},"b":{"type":"http","url":"http://127.0.0.1:9/mcp"}}} // c`, []string{"a uvx x"}, []string{"b"}},
		"Zed":          {`{"theme":"One","vim_mode":true,"context_servers":{"a":{"source":"custom","command":{"path":"x","args":["y"],"env":{}}}}}`, []string{"a x y"}, nil},
		"opencode":     {`{"mcp":{"a":{"type":"local","command":["npx","x"],"environment":{"A":"b"},"enabled":true}}}`, []string{"a npx x"}, nil},
		"Claude Code":  {`{"numStartups":3,"projects":{"/home/me":{"mcpServers":{}}},"mcpServers":{"a":{"type":"stdio","command":"x","args":[],"env":{}}}}`, []string{"a x "}, nil},
		"a bridge":     {`{"mcpServers":{"a":{"command":"npx","args":["mcp-remote","http://127.0.0.1:9/mcp"]}}}`, nil, []string{"a"}},
		"one server":   {`{"name":"a","command":"x"}`, []string{"a x "}, nil},
		"Windows path": {"\ufeff" + `{"mcpServers":{"a":{"command":"C:\\x.exe"}}}`, []string{`a C:\x.exe `}, nil},
	} {
		set, err := read(t, files.Local, c.content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		programs, remote := names(set)
		if diff := cmp.Diff(c.programs, programs); diff != "" {
			t.Errorf("%s: programs %s", name, diff)
		}
		if diff := cmp.Diff(c.remote, remote); diff != "" {
			t.Errorf("%s: URLs %s", name, diff)
		}
		if len(set.Problems) > 0 || len(set.Programs) > 0 && set.Programs[0].Problem != "" {
			t.Errorf("%s: problems %v, %+v", name, set.Problems, set.Programs)
		}
	}
}

func TestMistakesConcernTheirEntry(t *testing.T) {
	set := mustRead(t, files.Local, `{"mcpServers":{
		"a":{"command":"x","idleTimout":5,"denyTools":["d"],"headers":{}},
		"b":{"command":"x","memory":1},
		"c":{"command":"x","timeout":"long"},
		"d":{"command":"x","url":"http://127.0.0.1:9/mcp"},
		"my server":{"command":"x"},
		"e":{"url":"no"},
		"f":{"url":"http://127.0.0.1:9/mcp","env":{"A":"b"},"color":"red"},
		"g":{"url":"http://127.0.0.1:9/mcp","headers":{"X-Key":"${input:key}"}}}}`)
	got := map[string]string{}
	for _, e := range set.Programs {
		got[e.Name] = e.Problem
	}
	for name, want := range map[string]string{"b": "memory must be", "c": "timeout: use a whole number", "d": "url: only servers with a URL"} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if got["a"] != "" {
		t.Errorf("a: %q", got["a"])
	}
	var left []string
	for _, p := range set.Problems {
		left = append(left, p.Name+" "+p.Reason[:6])
	}
	if diff := cmp.Diff([]string{`"my server" use 1 `, `"g" header`}, left); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(set.Notes, "\n")
	for _, want := range []string{"a: ignored: idleTimout (did you mean idleTimeout?)", "f: ignored: env, color"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in %s", want, notes)
		}
	}
	servers := set.Declaration.Projects[files.LocalProject].Servers
	if a := servers["a"]; !a.Program || a.URL != nil || len(*a.DenyTools) != 1 {
		t.Errorf("declaration of a: %+v", a)
	}
	if servers["f"].Program || *servers["f"].URL == "" || servers["g"] != nil {
		t.Errorf("declarations: %+v", servers)
	}
}

func TestConfigNamesEveryMistake(t *testing.T) {
	_, err := read(t, files.Config, `{"projects":{"p":{"mcpServers":{
		"a":{"command":"x","idleTimout":5},"b":{"command":"x","headers":{"A":"b"}},"c":{"url":"http://127.0.0.1:9/mcp","args":[]},"d":{"command":"x","type":"http"}}}}}`)
	if err == nil || !strings.Contains(err.Error(), "0.json: ") {
		t.Fatalf("error %v, want the file", err)
	}
	var f *fault.Fault
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"projects.p.mcpServers.a.idleTimout": "unknown key: did you mean idleTimeout?",
		"projects.p.mcpServers.b.headers":    "only servers with a URL have this key",
		"projects.p.mcpServers.c.args":       "only servers with a command have this key",
		"projects.p.mcpServers.d.type":       "a server with a command has the transport stdio: remove this key",
	}, f.Fields); diff != "" {
		t.Error(diff)
	}
	set := mustRead(t, files.Config, `{"projects":{
		"p":{"authMode":"api_key","mcpServers":{"a":{"command":"x","type":"stdio","sessionMode":"per-client","memory":1},"b":{"url":"http://127.0.0.1:9/mcp"}}},
		"q":{"mcpServers":{"a":{"command":"y","env":{"T":"${T}"}}}},"r":{}}}`)
	programs, remote := names(set)
	if diff := cmp.Diff([]string{"p/a x ", "q/a y "}, programs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"p/b"}, remote); diff != "" {
		t.Error(diff)
	}
	if set.Programs[0].Problem == "" || !set.Programs[0].PerClient || set.Programs[1].Env["T"] != "${T}" {
		t.Errorf("programs %+v", set.Programs)
	}
}

func TestEqualNamesNameBothFiles(t *testing.T) {
	one, two := `{"mcpServers":{"a":{"command":"x"}}}`, `{"servers":{"A":{"url":"http://127.0.0.1:9/mcp"}}}`
	_, err := read(t, files.Local, one, two)
	if err == nil || !strings.Contains(err.Error(), "0.json") || !strings.Contains(err.Error(), "1.json") {
		t.Errorf("equal names: %v", err)
	}
	path := write(t, directory(t), "a.json", one)
	if _, err := files.Read([]string{path, path}, files.Local); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("same file: %v", err)
	}
}

func TestLimitsOfFiles(t *testing.T) {
	dir := directory(t)
	var paths []string
	for i := range files.MaxLocal + 1 {
		paths = append(paths, write(t, dir, fmt.Sprintf("%d.json", i), fmt.Sprintf(`{"mcpServers":{"s%d":{"command":"x"}}}`, i)))
	}
	for n, ok := range map[int]bool{0: false, 1: true, files.MaxLocal - 1: true, files.MaxLocal: true, files.MaxLocal + 1: false} {
		if _, err := files.Read(paths[:n], files.Local); (err == nil) != ok {
			t.Errorf("%d files: %v", n, err)
		}
	}
	config := write(t, dir, "config.json", `{"projects":{}}`)
	if _, err := files.Read([]string{config, paths[0]}, files.Config); err == nil {
		t.Error("two declarative files: no error")
	}
	for n, ok := range map[int]bool{wire.MaxServers - 1: true, wire.MaxServers: true, wire.MaxServers + 1: false} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"s%d":{"command":"x"}`, i))
		}
		half := len(list) / 2
		set, err := read(t, files.Local, `{"mcpServers":{`+strings.Join(list[:half], ",")+`}}`, `{"mcpServers":{`+strings.Join(list[half:], ",")+`}}`)
		if (err == nil) != ok || err == nil && len(set.Programs) != n {
			t.Errorf("%d programs: %v", n, err)
		}
	}
}

func TestRefusedFile(t *testing.T) {
	path := write(t, directory(t), "a.json", `{"mcpServers":{"a":{"command":"x"}}}`)
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // must be refused
		t.Fatal(err)
	}
	for _, format := range []files.Format{files.Local, files.Config} {
		var refusal *trusted.Refusal
		if _, err := files.Read([]string{path}, format); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", format, err)
		}
	}
	for content, want := range map[string]string{`{"projects":{}}`: "projects", `{"mcpServer":{"a":{"command":"x"}}}`: "did you mean mcpServers?", "{": "cut off", "": "neither"} {
		if _, err := read(t, files.Local, content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}

// set returns a set of programs with the names and commands.
func set(t *testing.T, list ...string) *files.Set {
	t.Helper()
	s := &files.Set{Files: []wire.File{{Path: "f", SHA256: strings.Join(list, ",")}}}
	for _, text := range list {
		name, command, _ := strings.Cut(text, "=")
		command, idle, _ := strings.Cut(command, "/")
		e := &entry.Entry{Name: name, Command: entry.Command{Program: command}}
		e.IdleTimeout = time.Duration(len(idle)) * time.Minute
		if command == "" {
			e.Problem = "command must name a program"
		}
		s.Programs = append(s.Programs, e)
	}
	return s
}

// described returns what runs: NAME=COMMAND, with ? if the command has not run and
// ! if another one waits.
func described(c files.Change) (list []string) {
	for _, p := range c.Programs {
		text := p.Entry.Name + "=" + p.Entry.Program
		if p.New {
			text += "?"
		}
		if p.Held {
			text += "!"
		}
		list = append(list, text)
	}
	return list
}

func TestChangedFileRunsNothingNew(t *testing.T) {
	a := files.NewActive()
	for _, step := range []struct {
		what                                     string
		list                                     []string
		reload                                   bool
		want                                     []string
		added, replaced, settings, removed, held []string
	}{
		{what: "start", list: []string{"a=x", "b=y", "c=z"}, reload: true, want: []string{"a=x", "b=y", "c=z"}, added: []string{"a", "b", "c"}},
		{what: "nothing changed", list: []string{"a=x", "b=y", "c=z"}, want: []string{"a=x", "b=y", "c=z"}},
		{what: "removal, settings, change and addition", list: []string{"a=x/s", "b=evil/s", "d=evil"}, want: []string{"a=x", "b=y!", "d=evil?!"},
			settings: []string{"a", "b"}, removed: []string{"c"}, held: []string{"b", "d"}},
		{what: "the same again", list: []string{"a=x/s", "b=evil/s", "d=evil"}, want: []string{"a=x", "b=y!", "d=evil?!"}},
		{what: "the removed one returns", list: []string{"a=x/s", "b=y/s", "c=z", "d=evil"}, want: []string{"a=x", "b=y", "c=z?!", "d=evil?!"}, held: []string{"c"}},
		{what: "a mistake ends nothing", list: []string{"a=", "b=y/s", "d=evil"}, want: []string{"a=x!", "b=y", "d=evil?!"}, removed: []string{"c"}, held: []string{"a"}},
		{what: "reload", list: []string{"a=w", "b=y/s", "d=evil"}, reload: true, want: []string{"a=w", "b=y", "d=evil"}, added: []string{"d"}, replaced: []string{"a"}},
		{what: "reload of a mistake", list: []string{"a="}, reload: true, want: []string{"a="}, replaced: []string{"a"}, removed: []string{"b", "d"}},
	} {
		c := a.Apply(set(t, step.list...), step.reload)
		if diff := cmp.Diff(step.want, described(c)); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
		for name, both := range map[string][2][]string{
			"added": {step.added, c.Added}, "replaced": {step.replaced, c.Replaced}, "settings": {step.settings, c.Settings}, "removed": {step.removed, c.Removed}, "held": {step.held, c.Held},
		} {
			if diff := cmp.Diff(both[0], both[1]); diff != "" {
				t.Errorf("%s: %s %s", step.what, name, diff)
			}
		}
		if files := a.Files(); files[0].SHA256 != strings.Join(step.list, ",") {
			t.Errorf("%s: files %v", step.what, files)
		}
	}
}

func TestWatch(t *testing.T) {
	dir := directory(t)
	path := write(t, dir, "a.json", "1")
	before, err := trusted.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	ticks, changed, ended := make(chan time.Time), make(chan struct{}, 10), make(chan struct{})
	go func() {
		defer close(ended)
		files.Watch(t.Context(), []string{path}, []wire.File{{Path: path, SHA256: before.Hash}}, ticks, func() { changed <- struct{}{} })
	}()
	look := func(what string, want int) {
		t.Helper()
		ticks <- time.Time{}
		ticks <- time.Time{} // the first one is finished
		if len(changed) != want {
			t.Errorf("%s: %d calls, want %d", what, len(changed), want)
		}
		for len(changed) > 0 {
			<-changed
		}
	}
	look("unchanged", 0)
	// The file is replaced in one step, because the last look may still be reading it.
	for _, content := range []string{"2", "3"} {
		if err := os.Rename(write(t, dir, "b.json", content), path); err != nil {
			t.Fatal(err)
		}
		look("replaced by "+content, 1)
	}
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // must be refused
		t.Fatal(err)
	}
	look("refused", 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look("missing", 1)
	look("still missing", 0)
}
