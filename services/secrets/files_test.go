package secrets_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// folder is a directory of secrets next to one that is not allowed.
type folder struct {
	*secrets.Resolver
	t                *testing.T
	allowed, outside string
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{t: t, allowed: filepath.Join(base, "allowed"), outside: filepath.Join(base, "allowed-not")}
	for _, dir := range []string{f.allowed, f.outside, filepath.Join(f.allowed, "deep")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.Resolver = secrets.NewResolver(ring(t, "a:"+key(1, 32)), environment("*").WithFiles(secrets.NewFiles([]string{f.allowed, "/nowhere"})))
	return f
}

func (f *folder) write(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.allowed, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *folder) link(target, name string) string {
	f.t.Helper()
	path := filepath.Join(f.allowed, name)
	if err := os.Symlink(target, path); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func TestFileReferences(t *testing.T) {
	f := newFolder(t)
	if err := os.WriteFile(filepath.Join(f.outside, "secret"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := f.write("deep/inside", canary)
	if err := syscall.Mkfifo(filepath.Join(f.allowed, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	limit := strings.Repeat("x", 64<<10)
	for _, tt := range []struct{ name, path, want, why string }{
		{"plain", f.write("plain", canary), canary, ""},
		{"newline", f.write("newline", canary+"\n"), canary, ""},
		{"one newline of two", f.write("newlines", canary+"\n\n"), canary + "\n", ""},
		{"CRLF", f.write("crlf", canary+"\r\n"), canary, ""},
		{"in a directory", inside, canary, ""},
		{"limit", f.write("limit", limit), limit, ""},
		{"over the limit", f.write("over", limit+"x"), "", "larger than 64 KiB"},
		{"empty", f.write("empty", "\n"), "", "empty"},
		{"missing", filepath.Join(f.allowed, "missing"), "", "missing"},
		{"directory", filepath.Join(f.allowed, "deep"), "", "not a regular file"},
		{"pipe", filepath.Join(f.allowed, "pipe"), "", "not a regular file"},
		{"relative link inside", f.link("deep/inside", "relative"), canary, ""},
		{"absolute link inside", f.link(inside, "absolute"), canary, ""},
		{"link out", f.link(filepath.Join(f.outside, "secret"), "out"), "", "a link out"},
		{"relative link out", f.link("../allowed-not/secret", "relative-out"), "", "a link out"},
		{"directory link out", filepath.Join(f.link(f.outside, "dir-out"), "secret"), "", "a link out"},
		{"link to nothing", f.link("nothing", "dangling"), "", "missing"},
		{"outside", filepath.Join(f.outside, "secret"), "", "GATEWAY_SECRET_DIRS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reference := "${file:" + tt.path + "}"
			stored, err := f.Store(reference, "row")
			if (err == nil) == (tt.name == "outside") || err == nil && stored != reference {
				t.Fatalf("Store(%s) = %q, %v", reference, stored, err)
			}
			if err != nil && !fault.Is(err, fault.CodeValidationFailed) {
				t.Fatal(err)
			}
			for _, prefix := range []string{"", "Bearer "} {
				v, err := f.Resolve(prefix+reference, "row")
				if tt.why == "" && (err != nil || v.Reveal() != prefix+tt.want) {
					t.Errorf("Resolve(%s%s) = %d bytes, %v", prefix, reference, len(v.Reveal()), err)
				}
				if tt.why != "" && (!fault.Is(err, fault.CodeUpstreamUnauthorized) || !strings.Contains(err.Error(), tt.why) || !v.IsZero()) {
					t.Errorf("Resolve(%s%s) = %v, want %q", prefix, reference, err, tt.why)
				}
			}
		})
	}
	for _, reference := range []string{"${file:relative}", "${file:" + f.allowed + "/../allowed-not/secret}", "${file:" + f.allowed + "}", "x ${file:" + inside + "}", "${file:/nowhere-else/x}"} {
		if _, err := f.Store(reference, "row"); !fault.Is(err, fault.CodeValidationFailed) {
			t.Errorf("Store(%s) = %v", reference, err)
		}
	}
	none := secrets.NewResolver(ring(t, "a:"+key(1, 32)), environment("*"))
	if _, err := none.Store("${file:/run/secrets/a}", "row"); !fault.Is(err, fault.CodeValidationFailed) {
		t.Errorf("without directories: %v", err)
	}
	if _, err := none.Resolve("${file:/run/secrets/a}", "row"); !fault.Is(err, fault.CodeUpstreamUnauthorized) {
		t.Errorf("without directories: %v", err)
	}
}

func TestChangedFileIsUsedWithinSecond(t *testing.T) {
	f := newFolder(t)
	reference := "${file:" + f.write("token", "one") + "}"
	if v, err := f.Resolve(reference, ""); err != nil || v.Reveal() != "one" {
		t.Fatal(err)
	}
	f.write("token", "two")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	changed := time.Now()
	for {
		v, err := f.Resolve(reference, "")
		if err != nil {
			t.Fatal(err)
		}
		if v.Reveal() == "two" {
			break
		}
		if time.Since(changed) > 5*time.Second { // 1 s is guaranteed; the machine may be busy
			t.Fatal("the former value is used after 5 s")
		}
		<-tick.C
	}
}
