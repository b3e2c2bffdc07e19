//go:build linux || darwin

package access

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for _, good := range []string{"127.0.0.1:0", "127.0.0.1:65535", "127.1.2.3:80", "[::1]:80", "unix:/tmp/x.sock"} {
		if _, err := ParseAddress(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", ":80", "0.0.0.0:80", "[::]:80", "192.168.1.2:80", "localhost:80", "example.com:80", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:x", "unix:x.sock", "unix:"} {
		if _, err := ParseAddress(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "localhost": true, "LOCALHOST:80": true, "[::1]": true, "[::1]:80": true,
		"": false, "example.com": false, "127.0.0.1.example.com": false, "localhost.example.com:80": false, "10.0.0.1": false,
	} {
		if isLoopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

func TestUsersOfTheControlSocket(t *testing.T) {
	for _, c := range []struct {
		uid, own int
		want     bool
	}{{1000, 1000, true}, {0, 1000, true}, {1001, 1000, false}, {1000, 0, false}} {
		if isAllowed(c.uid, c.own) != c.want {
			t.Errorf("user %d of a runner of %d: %v", c.uid, c.own, !c.want)
		}
	}
}

// TestControlSocket replaces a socket that was left, and accepts this user.
func TestControlSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "gw")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "c")
	for range 2 {
		l, err := Control(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		client, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if uid, err := peerUID(conn.(*net.UnixConn)); err != nil || uid != os.Geteuid() {
			t.Errorf("user %d, %v", uid, err)
		}
		_, _, _ = client.Close(), conn.Close(), l.Close() // the file stays
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Control(filepath.Join(dir, "file")); err == nil {
		t.Error("a file was replaced")
	}
	if _, err := Control(filepath.Join(dir, strings.Repeat("x", 200))); err == nil {
		t.Error("a path that is too long works")
	}
}
