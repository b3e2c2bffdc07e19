package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// Limits of a program's output.
const (
	// MaxLine is the maximum size of a line in bytes, without its end.
	MaxLine = 10 << 20
	// MaxStray is the maximum size of other output in StrayTime.
	MaxStray  = 32 << 20
	StrayTime = 10 * time.Second
)

// Errors of a program that exceeds a limit.
var (
	ErrLine  = fmt.Errorf("the program wrote a line of more than %d MiB", MaxLine>>20)
	ErrStray = fmt.Errorf("the program wrote more than %d MiB that are not messages in %d s", MaxStray>>20, int(StrayTime.Seconds()))
)

var byteOrderMark = []byte("\ufeff")

// readLines reads lines until the output ends. message reports whether a line is
// a message; the others are passed to stray, which may be nil. It returns nil at
// the end of the output, or ErrLine or ErrStray.
func readLines(out io.Reader, message func(line []byte) bool, stray func(line []byte)) error {
	r := bufio.NewReaderSize(out, 64<<10)
	other := allowance{left: MaxStray}
	var long []byte // a line that is longer than the buffer
	for first := true; ; first = false {
		line, err := readLine(r, &long)
		if errors.Is(err, ErrLine) {
			return err
		}
		if first {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) > 0 && !message(line) {
			if stray != nil {
				stray(line)
			}
			if !other.take(time.Now(), len(line)+1) {
				return ErrStray
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the program has ended or closed its output
		}
	}
}

// readLine returns the next line with its end. It is valid until the next call.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	*long = (*long)[:0]
	for {
		part, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) && len(*long) == 0 {
			return part, err
		}
		*long = append(*long, part...)
		if len(bytes.TrimRight(*long, "\r\n")) > MaxLine {
			return nil, ErrLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			line := *long
			if cap(line) > keptBuffer {
				*long = nil
			}
			return line, err
		}
	}
}

// keptBuffer is the maximum size of the buffer for long lines that is kept.
const keptBuffer = 1 << 20

// allowance is a number of bytes for each StrayTime.
type allowance struct {
	left  int
	since time.Time
}

func (a *allowance) take(now time.Time, n int) bool {
	if now.Sub(a.since) > StrayTime {
		a.since, a.left = now, MaxStray
	}
	a.left -= n
	return a.left >= 0
}
