package modelstest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startTimeout limits the creation and start of a cluster, which take about 2
// seconds on an idle machine.
const startTimeout = 2 * time.Minute

// installHint is the command that installs the server binaries.
const installHint = "apt-get install postgresql"

// watchdog creates and starts the cluster in the current directory, prints
// "ready" and waits for the end of its standard input. It then stops the
// cluster and removes the directory. The process that uses the cluster holds
// the other end of that input, which the kernel closes even after SIGKILL. The
// time zone is far from UTC to expose code that depends on it.
const watchdog = `
trap '' HUP INT TERM
if "$1/initdb" -D data -U postgres -A trust --encoding=UTF8 --no-locale --no-sync >log 2>&1 &&
	"$1/pg_ctl" -D data -l server.log -w -t 90 start >>log 2>&1 -o "-k '$PWD' -c listen_addresses= -c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=300 -c shared_buffers=64MB -c max_wal_size=256MB -c autovacuum=off -c TimeZone=Asia/Kathmandu"
then
	echo ready
	exec >/dev/null
	read -r line
	"$1/pg_ctl" -D data -m immediate -w stop >>log 2>&1
else
	cat log server.log 2>/dev/null
fi
rm -rf "$PWD"
`

// Cluster is a temporary PostgreSQL cluster. It runs until Stop is called or
// the process that started it ends.
type Cluster struct {
	URL string // maintenance database, as a superuser

	hold *os.File // closing it stops the cluster
	dog  *exec.Cmd
	bin  string // folder of the server programs
}

// StartCluster creates and starts a cluster that listens only on a Unix socket.
// If PostgreSQL's server binaries are missing, the error contains the command
// that installs them.
func StartCluster() (*Cluster, error) {
	bin, err := serverBinaries()
	if err != nil {
		return nil, err
	}
	// A socket path is limited to 107 bytes and must be accessible to the
	// server's user. TMPDIR may be neither.
	dir, err := os.MkdirTemp("/tmp", "gwpg")
	if err != nil {
		return nil, err
	}
	c, err := startWatchdog(bin, dir)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return c, nil
}

// Stop stops the cluster and removes its files.
func (c *Cluster) Stop() error {
	c.hold.Close()
	return c.dog.Wait()
}

// Halt stops the server with a pg_ctl mode (smart, fast or immediate) and waits
// for its end. All connections break; the data remains.
func (c *Cluster) Halt(ctx context.Context, mode string) error {
	return c.control(ctx, "-m", mode, "stop")
}

// Resume starts the server after Halt and waits until it accepts connections.
func (c *Cluster) Resume(ctx context.Context) error {
	return c.control(ctx, "restart") // start would lose the initial options
}

func (c *Cluster) control(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "pg_ctl"), append([]string{"-D", "data", "-l", "server.log", "-w", "-t", "90"}, args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dog.Dir, c.dog.Env, c.dog.SysProcAttr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pg_ctl %v, see server.log in %s: %w", args, c.dog.Dir, err)
	}
	return nil
}

func startWatchdog(bin, dir string) (*Cluster, error) {
	attr := &syscall.SysProcAttr{Setsid: true} // a terminal's Ctrl-C must not reach it
	if os.Geteuid() == 0 {
		// PostgreSQL refuses to run as root.
		credential, err := unprivileged()
		if err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(credential.Uid), int(credential.Gid)); err != nil {
			return nil, err
		}
		attr.Credential = credential
	}
	input, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close()
	report, output, err := os.Pipe()
	if err != nil {
		hold.Close()
		return nil, err
	}
	defer report.Close()
	dog := exec.Command("/bin/sh", "-c", watchdog, "watchdog", bin)
	dog.Dir = dir
	dog.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "PWD=" + dir}
	dog.Stdin, dog.Stdout = input, output
	dog.SysProcAttr = attr
	err = dog.Start()
	output.Close()
	if err != nil {
		hold.Close()
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := awaitReady(report); err != nil {
		hold.Close()
		return nil, errors.Join(err, dog.Wait())
	}
	address := url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: url.Values{
		"host": {dir}, "user": {"postgres"}, "sslmode": {"disable"},
	}.Encode()}
	return &Cluster{URL: address.String(), hold: hold, dog: dog, bin: bin}, nil
}

// awaitReady returns nil when the watchdog reports that the cluster is ready,
// and otherwise an error with the watchdog's output.
func awaitReady(report *os.File) error {
	if err := report.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return err
	}
	var said strings.Builder
	lines := bufio.NewScanner(report)
	for lines.Scan() {
		if lines.Text() == "ready" {
			return nil
		}
		said.WriteString(lines.Text() + "\n")
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return fmt.Errorf("start PostgreSQL: not ready:\n%s", said.String())
}

// serverBinaries returns the directory of PostgreSQL's server programs: the one
// in PATH, otherwise Debian's newest.
func serverBinaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil && complete(filepath.Dir(real)) {
			return filepath.Dir(real), nil
		}
	}
	const folders = "/usr/lib/postgresql/*/bin"
	found, err := filepath.Glob(folders)
	if err != nil {
		return "", err
	}
	found = slices.DeleteFunc(found, func(dir string) bool { return !complete(dir) })
	if len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL server programs not found in PATH or %s; run: %s", folders, installHint)
	}
	return slices.MaxFunc(found, func(a, b string) int { return majorVersion(a) - majorVersion(b) }), nil
}

// complete reports whether dir contains all required programs.
func complete(dir string) bool {
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return false
		}
	}
	return true
}

// majorVersion returns the 15 of /usr/lib/postgresql/15/bin, or 0.
func majorVersion(dir string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	if err != nil {
		return 0
	}
	return n
}

// unprivileged returns the credentials of a user that can run PostgreSQL.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and the users postgres and nobody do not exist") // language:ignore: a user name
}
