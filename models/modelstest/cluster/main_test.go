package main

import (
	"bufio"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"mcpgateway/models/modelstest"
)

// If programVariable is set, this test binary runs main.
const programVariable = "CLUSTER_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), programVariable+"=1")
	return cmd
}

func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err == nil {
		return 0
	}
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

func TestExitStatus(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests don't start PostgreSQL")
	}
	cases := []struct {
		name string
		args []string
		want int
	}{
		{"success", []string{"--", "true"}, 0},
		{"without the dashes", []string{"true"}, 0},
		{"failure", []string{"--", "sh", "-c", "exit 7"}, 7},
		{"killed", []string{"--", "sh", "-c", "kill -9 $$"}, 137},
		{"no such command", []string{"--", "/does/not/exist"}, 1},
		{"no command", []string{"--"}, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := status(t, program(c.args...).Run()); got != c.want {
				t.Errorf("exit status = %d, want %d", got, c.want)
			}
		})
	}
}

func TestCommandHasClusterAndSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests don't start PostgreSQL")
	}
	script := `trap 'exit 9' TERM; echo "$` + modelstest.AdminVariable + `"; while :; do read -r line || exit 8; done`
	cmd := program("--", "sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	dir := address.Query().Get("host")
	if _, err := os.Stat(dir + "/.s.PGSQL.5432"); err != nil {
		t.Errorf("socket of the cluster: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// A shell that is blocked in read runs its trap when read returns.
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Log(err)
	}
	if got := status(t, cmd.Wait()); got != 9 {
		t.Errorf("exit status = %d, want 9", got)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder of the cluster still exists: %v", err)
	}
}
