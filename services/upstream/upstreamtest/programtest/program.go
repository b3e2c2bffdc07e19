// Package programtest is an MCP server over standard input and output that
// misbehaves on demand, to test code that starts such programs. cmd/mockmcp
// -stdio is it as a command. The binary of a test becomes it by calling [Main] at
// the start of TestMain, with the arguments -stdio and the flags of [Program].
package programtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// Argument is the first argument of the program.
const Argument = "-stdio"

// Program contains the faults of the program. The zero value has none.
type Program struct {
	Start   time.Duration // reads and writes nothing for this time
	Crash   string        // start, call, or a number of messages after which it exits
	Code    int           // exit status of a crash
	Probe   string        // at server/discover: silent or die
	Flood   string        // stdout or stderr, with :BYTES to stop after as many
	Garbage int           // other lines before each message
	Fork    string        // children to start: see forkModes
	Survive bool          // survives SIGTERM and the end of standard input
	Unread  int           // reads only as many messages; negative: all
	Hold    bool          // closes standard output at the start, and lives on
}

// Flags declares the flags of the program.
func (p *Program) Flags(fs *flag.FlagSet) {
	fs.DurationVar(&p.Start, "start", 0, "read and write nothing for this time, except standard error")
	fs.StringVar(&p.Crash, "crash", "", "exit at the start, at each call, or after a number of messages: start, call or N")
	fs.IntVar(&p.Code, "code", 1, "exit status of a crash")
	fs.StringVar(&p.Probe, "probe", "", "at server/discover: silent (no response) or die")
	fs.StringVar(&p.Flood, "flood", "", "write endless lines to stdout or stderr; stdout:N stops after N bytes")
	fs.IntVar(&p.Garbage, "garbage", 0, "number of lines that are not messages before each message")
	fs.StringVar(&p.Fork, "fork", "", "start children that ignore SIGTERM, separated by commas: "+strings.Join(forkModes(), ", "))
	fs.BoolVar(&p.Survive, "survive", false, "survive SIGTERM and the end of standard input")
	fs.IntVar(&p.Unread, "unread", -1, "read only this number of messages; -1 means all")
	fs.BoolVar(&p.Hold, "hold", false, "close standard output at the start and live on")
}

// check returns an error for invalid settings.
func (p *Program) check() error {
	if p.Crash != "" && p.Crash != "start" && p.Crash != "call" {
		if n, err := strconv.Atoi(p.Crash); err != nil || n < 1 {
			return fmt.Errorf("-crash: %q is not start, call or a number from 1", p.Crash)
		}
	}
	if !slices.Contains([]string{"", "silent", "die"}, p.Probe) {
		return fmt.Errorf("-probe: %q is not silent or die", p.Probe)
	}
	if _, _, err := p.flood(); err != nil {
		return err
	}
	if p.Start < 0 || p.Garbage < 0 || p.Unread < -1 || p.Code < 0 || p.Code > 255 {
		return errors.New("-start, -garbage, -unread or -code is out of range")
	}
	for _, mode := range p.children() {
		if !slices.Contains(forkModes(), mode) {
			return fmt.Errorf("-fork: %q is unknown, use %s", mode, strings.Join(forkModes(), ", "))
		}
	}
	return nil
}

// children returns the kinds of children to start.
func (p *Program) children() []string {
	return strings.FieldsFunc(p.Fork, func(r rune) bool { return r == ',' })
}

// flood returns the target and the number of bytes, negative if unlimited.
func (p *Program) flood() (target string, limit int64, err error) {
	target, number, limited := strings.Cut(p.Flood, ":")
	if !slices.Contains([]string{"", "stdout", "stderr"}, target) {
		return "", 0, fmt.Errorf("-flood: %q is not stdout or stderr", target)
	}
	if !limited {
		return target, -1, nil
	}
	if limit, err = strconv.ParseInt(number, 10, 64); err != nil || limit < 1 {
		return "", 0, fmt.Errorf("-flood: %q is not a number of bytes", number)
	}
	return target, limit, nil
}

// Serve serves server as the program does, until its input ends. It exits the
// process if the program has to.
func (p *Program) Serve(ctx context.Context, server *upstreamtest.Server, in io.Reader, out io.WriteCloser, trouble io.Writer) error {
	if err := p.check(); err != nil {
		return err
	}
	if p.Survive {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		ctx = context.WithoutCancel(ctx)
	}
	if err := p.fork(trouble); err != nil {
		return err
	}
	if p.Crash == "start" {
		p.exit(trouble, "crash at the start")
	}
	if !p.start(ctx, trouble) {
		return nil
	}
	if p.Hold {
		if err := out.Close(); err != nil {
			return err
		}
	}
	w := &writer{to: out, garbage: p.Garbage}
	p.pour(ctx, w, trouble)
	err := server.ServeStdio(ctx, &reader{program: p, from: newLines(in), trouble: trouble, stop: ctx.Done()}, w)
	if p.Survive || p.Hold && err == nil {
		<-ctx.Done()
	}
	if errors.Is(err, context.Canceled) { // SIGTERM
		return nil
	}
	return err
}

// start waits as long as the program takes to start. It returns false if ctx
// ends first.
func (p *Program) start(ctx context.Context, trouble io.Writer) bool {
	if p.Start == 0 {
		return true
	}
	fmt.Fprintf(trouble, "mockmcp: starting, %v\n", p.Start)
	select {
	case <-time.After(p.Start):
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Program) exit(trouble io.Writer, why string) {
	fmt.Fprintln(trouble, "mockmcp:", why)
	os.Exit(p.Code)
}

// Main runs the program and exits, if its arguments are those of it or of its
// children. Otherwise it returns. It must be called before flags are parsed.
func Main() {
	if len(os.Args) < 2 || !isOurs(os.Args[1]) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mockmcp:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func isOurs(argument string) bool { return argument == Argument || argument == childArgument }

func run(ctx context.Context, args []string) error {
	if IsChild(args) {
		return RunChild(args)
	}
	var p Program
	fs := flag.NewFlagSet("mockmcp", flag.ContinueOnError)
	p.Flags(fs)
	list := fs.String("era", "all", "protocol revisions")
	tools := fs.Int("tools", 6, "number of standard tools, before those of the program")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	eras, err := upstreamtest.ParseEras(*list)
	if err != nil {
		return err
	}
	o := Options(*tools)
	o.Eras = eras
	server := upstreamtest.New(o)
	defer server.Close()
	return p.Serve(ctx, server, os.Stdin, os.Stdout, os.Stderr)
}
