package config_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSecretDirs(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"secrets", "data", "data/secrets", "keys"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(base, "secrets", "token"), []byte("from a file\n"), 0o600),
		os.WriteFile(filepath.Join(base, "keys", "metrics"), []byte("fedcba9876543210"), 0o600),
		os.Symlink(filepath.Join(base, "data"), filepath.Join(base, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	database := "GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(base, "data", "gateway.db")
	dirs := func(list string) []string { return []string{database, "GATEWAY_SECRET_DIRS=" + list} }
	c := mustLoad(t, dirs(base+"/secrets, "+base+"/data/secrets")...)
	if v, err := c.Environment.Resolve("${file:" + base + "/secrets/token}"); err != nil || v.Reveal() != "from a file" {
		t.Errorf("Resolve() = %v", err)
	}
	wantMistakes(t, dirs(base+"/data"), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, dirs(base+"/link"), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, dirs(base), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, dirs("/"), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, dirs(base+"/missing"), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, dirs(base+"/secrets/token"), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, dirs(base+"/secrets/../keys"), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, dirs("secrets"), "GATEWAY_SECRET_DIRS: ")
	wantMistakes(t, append(dirs(base+"/keys"), "GATEWAY_METRICS_TOKEN_FILE="+base+"/keys/metrics"), "GATEWAY_SECRET_DIRS: ")
}
