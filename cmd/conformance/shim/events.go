package shim

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// maxLineBytes bounds one line of an event stream: it holds the largest answer
// that the gateway passes on.
const maxLineBytes = 16 << 20

var errLineTooLong = errors.New("a line of the event stream is too long")

// copyEvents passes an event stream on, event by event (WHATWG HTML, section
// 9.2.6). Only the data of an event can change; comments and the fields id,
// event and retry keep their bytes and their order around it. What ends the
// stream is returned, nil for its proper end.
func (n Names) copyEvents(w http.ResponseWriter, src io.Reader) error {
	lines := bufio.NewReaderSize(src, 64<<10)
	out := http.NewResponseController(w)
	var data [][]byte // of the event that is being read
	for {
		line, err := readLine(lines)
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0: // the end of the stream
		case bytes.HasPrefix(text, []byte("data:")):
			data = append(data, bytes.TrimPrefix(text[len("data:"):], []byte(" ")))
		case len(text) > 0:
			if _, err := w.Write(line); err != nil {
				return err
			}
			if text[0] == ':' { // keeps the connection alive only when it arrives
				if err := out.Flush(); err != nil {
					return err
				}
			}
		default: // the end of an event
			if err := n.writeData(w, data); err != nil {
				return err
			}
			data = nil
			if _, err := w.Write(line); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// writeData writes the data lines of an event, whose lines together are one
// message.
func (n Names) writeData(w io.Writer, data [][]byte) error {
	if data == nil {
		return nil
	}
	message := n.Response(bytes.Join(data, []byte("\n")))
	for line := range bytes.SplitSeq(message, []byte("\n")) {
		if _, err := w.Write(append(append([]byte("data: "), line...), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// readLine returns the next line with its end, in memory of its own.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLineBytes {
			return nil, errLineTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
