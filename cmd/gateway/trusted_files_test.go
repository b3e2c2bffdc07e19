//go:build linux || darwin

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// another is the id of a user and of a group that this process doesn't have.
const another = 12345

// fileMaker writes a file with the content and returns its path.
type fileMaker func(t *testing.T, content string) string

// withMode returns the maker of files with a mode, owner and group. -1 leaves owner
// or group. Only root can give files away, so the test is skipped for other users.
func withMode(mode os.FileMode, uid, gid int) fileMaker {
	return func(t *testing.T, content string) string {
		t.Helper()
		if (uid >= 0 || gid >= 0) && os.Geteuid() != 0 {
			t.Skip("only root can give files away")
		}
		path := clientFile(t, content)
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// inOpenDirectory writes a file that others can't write in a directory that they can.
func inOpenDirectory(t *testing.T, content string) string {
	t.Helper()
	path := clientFile(t, content)
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // must be refused
		t.Fatal(err)
	}
	return path
}

// linked creates a symbolic link to a file in another directory.
func linked(target fileMaker) fileMaker {
	return func(t *testing.T, content string) string {
		t.Helper()
		link := filepath.Join(filepath.Dir(clientFile(t, "")), "link.json")
		if err := os.Symlink(target(t, content), link); err != nil {
			t.Fatal(err)
		}
		return link
	}
}

const (
	clientContent   = `{"mcpServers":{"a":{"command":"sh"}}}`
	declaredContent = `{"projects":{"p":{"mcpServers":{"a":{"command":"sh"}}}}}`
)

func TestCommandsRefuseFilesOfOthers(t *testing.T) {
	open, group := withMode(0o666, -1, -1), withMode(0o664, -1, another)
	foreign := withMode(0o644, another, -1)
	for name, c := range map[string]struct {
		make fileMaker
		want string // the text of the error, in which FILE and DIR are the file and its directory
	}{
		"all may write":             {open, "FILE: others may write it (mode 0666): chmod go-w FILE"},
		"a shared group may write":  {group, "FILE: its group may write it (mode 0664): chmod g-w FILE"},
		"of another user":           {foreign, "FILE: it belongs to another user (12345): copy it"},
		"in an open directory":      {inOpenDirectory, "DIR: others may write it (mode 0777): chmod go-w DIR"},
		"link to a writable file":   {linked(open), "FILE: others may write it (mode 0666): chmod go-w FILE"},
		"link to one of the group":  {linked(group), "FILE: its group may write it (mode 0664): chmod g-w FILE"},
		"link to another user's":    {linked(foreign), "FILE: it belongs to another user (12345): copy it"},
		"link to an open directory": {linked(inOpenDirectory), "DIR: others may write it (mode 0777): chmod go-w DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			environ := surroundings(t)
			local, declared := c.make(t, clientContent), c.make(t, declaredContent)
			for _, command := range []struct{ args, file string }{
				{"serve --addr 127.0.0.1:0 --local", local},
				{"serve --addr 127.0.0.1:0 --config", declared},
				{"runner check --local", local},
				{"runner --listen 127.0.0.1:0 --token-file " + clientFile(t, strings.Repeat("x", 32)) + " --local", local},
			} {
				resolved, err := filepath.EvalSymlinks(command.file)
				if err != nil {
					t.Fatal(err)
				}
				want := "gateway: configuration: " + strings.NewReplacer("FILE", resolved, "DIR", filepath.Dir(resolved)).Replace(c.want) + "\n"
				code, out, errs := commandLine(t, environ, "", append(strings.Fields(command.args), command.file)...)
				if code != 2 || out != "" || errs != want {
					t.Errorf("%s: exit code %d, %s%swant %s", command.args, code, out, errs, want)
				}
			}
		})
	}
}

// TestCommandsTakePrivateGroups uses a file that its owner's private group may
// write, as the umask 002 makes it.
func TestCommandsTakePrivateGroups(t *testing.T) {
	if os.Getegid() != os.Geteuid() {
		t.Skip("this user has no private group")
	}
	environ := surroundings(t, "PATH="+os.Getenv("PATH"))
	private := withMode(0o664, -1, -1)
	local, declared := private(t, clientContent), private(t, declaredContent)
	startServing(t, environ, "--local", local).stop(t)
	startServing(t, environ, "--config", declared).stop(t)
	if code, out, errs := commandLine(t, environ, "", "runner", "check", "--local", local); code != 0 {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	state := filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		args := []string{"runner", "--local", local, "--listen", "127.0.0.1:0", "--token-file", clientFile(t, strings.Repeat("x", 32)), "--state", state}
		ended <- run(ctx, streams{out: io.Discard, err: io.Discard, in: strings.NewReader(""), environ: environ}, args)
	}()
	until(t, "the runner runs", func() bool {
		code, out, _ := commandLine(t, environ, "", "runner", "status", "--state", state)
		return code == 0 && strings.Contains(out, fmt.Sprintf("file %s ", local))
	})
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("runner: exit code %d", code)
	}
}

func TestApplyTakesNoCommand(t *testing.T) {
	environ := surroundings(t)
	for _, args := range [][]string{{"apply", "-f", clientFile(t, declaredContent)}, {"apply", "-f", clientFile(t, clientContent)}, {"apply", "-f", "-"}, {"apply", "--dry-run", "-f", "-"}} {
		code, out, errs := commandLine(t, environ, declaredContent, args...)
		if code != 1 || out != "" || !strings.Contains(errs, `a.command: commands are taken only from a file: save this entry and run "gateway serve --local FILE"`) {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
}
