//go:build unix

package trusted_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcpgateway/services/runner/trusted"
)

func write(t *testing.T, path string, size int, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func wantRefusal(t *testing.T, what, path, reason string) {
	t.Helper()
	_, err := trusted.Read(path)
	var refusal *trusted.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, reason) {
		t.Errorf("%s: %v, want %q", what, err, reason)
	}
}

func wantRead(t *testing.T, what, path string) *trusted.File {
	t.Helper()
	f, err := trusted.Read(path)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return f
}

func TestContentAndHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.json")
	write(t, path, 3, 0o600)
	f := wantRead(t, "own file", path)
	if string(f.Content) != "xxx" || f.Path != path || f.Hash != "cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860" {
		t.Errorf("read %+v", f)
	}
}

func TestWritableByOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "servers.json")
	for _, mode := range []os.FileMode{0o666, 0o602} {
		write(t, path, 3, mode)
		wantRefusal(t, mode.String(), path, "others may write it")
	}
	write(t, path, 3, 0o664)
	if os.Getegid() != os.Geteuid() {
		wantRefusal(t, "shared group", path, "its group may write it")
	} else {
		wantRead(t, "private group", path)
	}
	write(t, path, 3, 0o644)
	wantRead(t, "readable by all", path)

	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(open, "servers.json")
	write(t, inside, 3, 0o600)
	for mode, refused := range map[os.FileMode]bool{0o777: true, 0o777 | os.ModeSticky: false, 0o755: false} {
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		if refused {
			wantRefusal(t, "open directory", inside, "chmod go-w "+open)
			continue
		}
		wantRead(t, mode.String(), inside)
	}
}

// TestOtherOwner changes the owner of the file, which only root can do.
func TestOtherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	write(t, path, 3, 0o600)
	if err := os.Chown(path, 12345, 0); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "another user", path, "belongs to another user (12345)")
	if err := os.Chown(path, 0, 12345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "shared group", path, "its group may write it (mode 0660)")
}

func TestSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.json"), filepath.Join(dir, "link.json")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	write(t, target, 3, 0o600)
	if f := wantRead(t, "link to a good file", link); f.Path != target {
		t.Errorf("path %q", f.Path)
	}
	write(t, target, 3, 0o666)
	wantRefusal(t, "link to a bad file", link, "others may write it")
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "dangling link", link, "no such file")
}

func TestKindAndSize(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "servers.json")
	for size, refused := range map[int]bool{trusted.MaxSize - 1: false, trusted.MaxSize: false, trusted.MaxSize + 1: true} {
		write(t, path, size, 0o600)
		if refused {
			wantRefusal(t, "too large", path, "more than 1048576 bytes")
			continue
		}
		wantRead(t, "largest", path)
	}
	wantRefusal(t, "directory", dir, "not a regular file")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "pipe", pipe, "not a regular file")
}
