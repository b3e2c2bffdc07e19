//go:build linux || darwin

package supervise

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"mcpgateway/services/redact"
	"mcpgateway/services/runners/wire"
)

// strayPrefix marks the lines of standard output in the log.
const strayPrefix = "stdout: "

// readSize is the part of a line that is searched for secrets, in bytes. The rest
// is dropped.
const readSize = 64 << 10

// maxShown is the maximum size of a line in messages, in bytes.
const maxShown = 300

// history has the latest lines of a program. The zero value is ready to use.
type history struct {
	mu    sync.Mutex
	lines []wire.Line // a ring
	next  int         // index of the oldest line, when it is full
}

func (h *history) add(at time.Time, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := wire.Line{At: at, Text: text}
	if len(h.lines) < wire.MaxLogLines {
		h.lines = append(h.lines, line)
		return
	}
	h.lines[h.next] = line
	h.next = (h.next + 1) % wire.MaxLogLines
}

func (h *history) all() []wire.Line {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(append(make([]wire.Line, 0, len(h.lines)), h.lines[h.next:]...), h.lines[:h.next]...)
}

// escapes matches the sequences that color a terminal or move its cursor
// (ECMA-48).
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// cleaned returns a line without secrets and control characters, at most limit
// bytes.
func cleaned(line []byte, secrets *redact.Values, limit int) string {
	text := strings.ToValidUTF8(string(line), "\ufffd")
	text = strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(text, ""))
	return truncated(strings.TrimRight(secrets.Text(text), " \t"), limit)
}

// truncated returns at most limit bytes of a text, without a partial character.
func truncated(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// readLog passes the lines of a reader until it ends. Of long lines it passes the
// start.
func readLog(from io.Reader, line func([]byte)) {
	r := bufio.NewReaderSize(from, readSize)
	for rest := false; ; {
		part, err := r.ReadSlice('\n')
		if part = bytes.TrimRight(part, "\r\n"); !rest && len(part) > 0 {
			line(part)
		}
		rest = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !rest {
			return
		}
	}
}

// logError adds a line of standard error to the log of the program.
func (p *Process) logError(line []byte) {
	text := cleaned(line, p.secrets, wire.MaxLogLine)
	if text == "" {
		return
	}
	p.run.program.lines.add(p.run.program.clock().Now(), text)
	shown := truncated(text, maxShown)
	p.lastLine.Store(&shown)
}

// logStray adds a line of standard output that is not a message.
func (p *Process) logStray(line []byte) {
	p.run.program.stray.Add(1)
	text := strayPrefix + cleaned(line[:min(len(line), readSize)], p.secrets, wire.MaxLogLine-len(strayPrefix))
	p.run.program.lines.add(p.run.program.clock().Now(), text)
}

// line returns the last line of standard error, or "".
func (p *Process) line() string {
	if p == nil {
		return ""
	}
	if text := p.lastLine.Load(); text != nil {
		return *text
	}
	return ""
}
