//go:build unix

package trusted

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// open opens a resolved path from the root on and checks every directory and
// the file by its descriptor. A symbolic link that appears in the meantime is an
// error.
func open(path string, o owner) (*os.File, error) {
	dir, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, refuse("/", "%v", err)
	}
	defer func() { _ = unix.Close(dir) }()
	names := strings.Split(strings.Trim(path, "/"), "/")
	at := ""
	for i, name := range names {
		if err := check(dir, orRoot(at), o, kindDirectory); err != nil {
			return nil, err
		}
		at += "/" + name
		flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if i < len(names)-1 {
			flags |= unix.O_DIRECTORY
		} else {
			flags |= unix.O_NONBLOCK // opening a pipe must not wait for a writer
		}
		next, err := unix.Openat(dir, name, flags, 0)
		if err != nil {
			return nil, refuse(at, "%v", err)
		}
		_ = unix.Close(dir)
		dir = next
	}
	if err := check(dir, path, o, kindRegular); err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, refuse(path, "%v", err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// check checks an open file or directory, which must be of the given kind.
func check(fd int, path string, o owner, expected kind) error {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return refuse(path, "%v", err)
	}
	mode := uint32(s.Mode) //nolint:unconvert // it has 16 bits on macOS
	got := status{mode: mode & 0o7777, uid: s.Uid, gid: s.Gid}
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		got.kind = kindRegular
	case unix.S_IFDIR:
		got.kind = kindDirectory
	}
	if got.kind != expected {
		return refuse(path, "it is not a regular file")
	}
	return o.check(path, got)
}
