package shim

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// maxLineBytes is the maximum size of a line of an event stream. It fits the
// largest response that the gateway forwards.
const maxLineBytes = 16 << 20

var errLineTooLong = errors.New("event stream line too long")

// copyEvents forwards an event stream event by event (WHATWG HTML, section 9.2.6).
// Only the data of events changes. Comments and the fields id, event and retry are
// copied unchanged and in order. copyEvents returns nil at the end of the stream.
func (n Names) copyEvents(w http.ResponseWriter, src io.Reader) error {
	lines := bufio.NewReaderSize(src, 64<<10)
	out := http.NewResponseController(w)
	var data [][]byte // of the current event
	for {
		line, err := readLine(lines)
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0: // end of stream
		case bytes.HasPrefix(text, []byte("data:")):
			data = append(data, bytes.TrimPrefix(text[len("data:"):], []byte(" ")))
		case len(text) > 0:
			if _, err := w.Write(line); err != nil {
				return err
			}
			if text[0] == ':' { // a keep-alive comment must be sent immediately
				if err := out.Flush(); err != nil {
					return err
				}
			}
		default: // end of an event
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

// writeData writes the data lines of an event. Joined, they are one message.
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

// readLine returns a copy of the next line, including the line break.
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
