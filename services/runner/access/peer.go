//go:build linux || darwin

// Package access decides who may use the addresses on which a runner listens:
// its control socket, and the one of --listen.
package access

import (
	"errors"
	"io/fs"
	"net"
	"os"
)

// Control listens on the control socket at a path, which only the user of this
// process and root can use. It replaces a socket that an earlier runner left.
func Control(path string) (net.Listener, error) {
	l, err := listenUnix(path)
	if err != nil {
		return nil, err
	}
	return &sameUser{l}, nil
}

// listenUnix listens on a socket with mode 0600.
func listenUnix(path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		_ = os.Remove(path)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the file can already be that of the next runner
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// sameUser accepts connections of the user of this process and of root.
type sameUser struct{ *net.UnixListener }

// Accept returns the next connection of a permitted user, and closes others.
func (l *sameUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(conn); err == nil && isAllowed(uid, os.Geteuid()) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// isAllowed reports whether a user may use the control socket of a runner of
// the user own.
func isAllowed(uid, own int) bool { return uid == own || uid == 0 }

var errNoPeer = errors.New("the user of the connection is unknown")

// peerUID returns the user at the other end of a connection.
func peerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	uid, failed := 0, errNoPeer
	if err := raw.Control(func(fd uintptr) { uid, failed = credentials(int(fd)) }); err != nil {
		return 0, err
	}
	return uid, failed
}
