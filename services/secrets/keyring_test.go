package secrets_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// key returns a base64 key derived from the seed.
func key(seed byte, size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = seed + byte(i)*7
	}
	return base64.StdEncoding.EncodeToString(b)
}

func ring(t testing.TB, list string) *secrets.KeyRing {
	t.Helper()
	r, err := secrets.ParseKeyRing(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseKeyRing(t *testing.T) {
	list := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("k%d:%s", i, key(byte(i), 32)))
		}
		return strings.Join(all, ",")
	}
	urlSafe := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb, 0xff}, 16))
	cases := []struct {
		name, list string
		active     string // empty when the list is rejected
	}{
		{"one key", "a:" + key(1, 32), "a"},
		{"first key active", "new:" + key(1, 32) + ",old:" + key(2, 32), "new"},
		{"spaces and line end", " a:" + key(1, 32) + " , b:" + key(2, 32) + "\n", "a"},
		{"without padding", "a:" + strings.TrimRight(key(1, 32), "="), "a"},
		{"URL-safe alphabet", "a:" + urlSafe, "a"},
		{"name of 32 characters", strings.Repeat("a", 32) + ":" + key(1, 32), strings.Repeat("a", 32)},
		{"32 keys", list(32), "k0"},
		{"33 keys", list(33), ""},
		{"name of 33 characters", strings.Repeat("a", 33) + ":" + key(1, 32), ""},
		{"empty", "", ""},
		{"blank", " \n", ""},
		{"no name", ":" + key(1, 32), ""},
		{"key without name", key(1, 32), ""},
		{"name with a space", "a b:" + key(1, 32), ""},
		{"31 bytes", "a:" + key(1, 31), ""},
		{"33 bytes", "a:" + key(1, 33), ""},
		{"no bytes", "a:", ""},
		{"not base64", "a:" + strings.Repeat("!", 43), ""},
		{"all zero", "a:" + base64.StdEncoding.EncodeToString(make([]byte, 32)), ""},
		{"all equal", "a:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{'x'}, 32)), ""},
		{"duplicate name", "a:" + key(1, 32) + ",a:" + key(2, 32), ""},
		{"second key unusable", "a:" + key(1, 32) + ",b:" + key(2, 16), ""},
		{"trailing comma", "a:" + key(1, 32) + ",", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := secrets.ParseKeyRing(c.list)
			if c.active == "" {
				if !fault.Is(err, fault.CodeInvalidParameter) {
					t.Fatalf("ParseKeyRing() = %v, %v, want an error", r, err)
				}
				for _, entry := range strings.Split(c.list, ",") {
					if _, secret, _ := strings.Cut(entry, ":"); len(secret) > 8 && strings.Contains(err.Error(), strings.TrimSpace(secret)[:8]) {
						t.Errorf("error contains a key: %v", err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.ActiveKID() != c.active {
				t.Errorf("active key %q, want %q", r.ActiveKID(), c.active)
			}
		})
	}
}

func TestKeyFileIsCreatedOncePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "secrets.key")
	first, err := secrets.LoadOrCreateKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("file mode = %o, want 600", info.Mode().Perm())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("directory contains %v (%v), want only the key file", entries, err)
	}
	sealed, err := first.Seal(secrets.NewValue(canary), "row")
	if err != nil {
		t.Fatal(err)
	}
	again, err := secrets.LoadOrCreateKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := again.Open(sealed, "row"); err != nil || v.Reveal() != canary {
		t.Errorf("Open() after a restart = %q, %v", v.Reveal(), err)
	}
}

func TestConcurrentKeyFileCreation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.key")
	const processes = 16
	rings, errs := make([]*secrets.KeyRing, processes), make([]error, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() { rings[i], errs[i] = secrets.LoadOrCreateKeyFile(path) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
	}
	sealed, err := rings[0].Seal(secrets.NewValue(canary), "row")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rings {
		if v, err := r.Open(sealed, "row"); err != nil || v.Reveal() != canary {
			t.Errorf("process %d: Open() = %q, %v", i, v.Reveal(), err)
		}
	}
}

func TestInvalidKeyFilesAreRejected(t *testing.T) {
	good := "a:" + key(1, 32) + "\n"
	cases := []struct {
		name, content string
		mode          os.FileMode
		ok            bool
	}{
		{"owner reads and writes", good, 0o600, true},
		{"owner reads", good, 0o400, true},
		{"group reads", good, 0o640, false},
		{"group writes", good, 0o620, false},
		{"world reads", good, 0o604, false},
		{"empty", "", 0o600, false},
		{"short key", "a:" + key(1, 8), 0o600, false},
		{"64 KiB", good + strings.Repeat(" ", 64<<10-len(good)), 0o600, true},
		{"64 KiB and a byte", good + strings.Repeat(" ", 64<<10-len(good)+1), 0o600, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secrets.key")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			_, err := secrets.LoadOrCreateKeyFile(path)
			if (err == nil) != c.ok {
				t.Errorf("LoadOrCreateKeyFile: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("error doesn't contain the path: %v", err)
			}
			if after, e := os.ReadFile(path); e != nil || string(after) != c.content {
				t.Errorf("file was changed (%v)", e)
			}
		})
	}
	t.Run("directory", func(t *testing.T) {
		if _, err := secrets.LoadOrCreateKeyFile(t.TempDir()); err == nil {
			t.Error("LoadOrCreateKeyFile() succeeded")
		}
	})
	t.Run("directory can't be created", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := secrets.LoadOrCreateKeyFile(filepath.Join(file, "secrets.key")); err == nil {
			t.Error("LoadOrCreateKeyFile() succeeded")
		}
	})
}
