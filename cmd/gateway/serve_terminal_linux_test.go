package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns both ends of a new terminal.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

func TestFirstStartPrintsAKeyThatWorks(t *testing.T) {
	environ := surroundings(t)
	file := clientFile(t, `{"mcpServers":{"notes":{"command":"no-such-program"}}}`)
	ours, theirs := terminal(t)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, streams{out: theirs, err: io.Discard, in: strings.NewReader(""), environ: environ}, []string{"serve", "--addr", "127.0.0.1:0", "--local", file})
	}()
	curl := regexp.MustCompile(`curl -s (http://[^/]+)/v1/mcp/local/request -H 'Authorization: Bearer (gwk_\S+)'`)
	lines := bufio.NewScanner(ours)
	var found []string
	for found == nil && lines.Scan() {
		found = curl.FindStringSubmatch(lines.Text())
	}
	if found == nil {
		t.Fatal("no curl line")
	}
	s := &serving{url: found[1], out: &output{}, end: end, code: code}
	if body := s.list(t, "local", found[2]); !strings.Contains(body, `"result"`) {
		t.Errorf("with the key: %s", body)
	}
	s.stop(t)
	again := startServing(t, environ, "--local", file)
	again.stop(t)
	if out := again.out.String(); out != "" {
		t.Errorf("the second start printed %s", out)
	}
}
