package upstreamtest

import (
	"bytes"
	"io"
	"strings"
)

// frame is an outgoing message. pad bytes of filler are inserted between head
// and tail, so that a huge response needs no memory.
type frame struct {
	head []byte
	pad  int64
	tail []byte
	half bool // close the connection after half of it
	// skip sends nothing because the request was cancelled. A JSON response,
	// which can't be empty, still sends head if it is set.
	skip   bool
	status int // HTTP status of a JSON response; 0: 200
}

// filler is the padding of frames. It is valid in a JSON string.
const filler = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

func (f frame) size() int64 { return int64(len(f.head)) + f.pad + int64(len(f.tail)) }

// writeTo writes at most limit bytes of the frame.
func (f frame) writeTo(w io.Writer, limit int64) error {
	head := f.head[:min(int64(len(f.head)), limit)]
	if _, err := w.Write(head); err != nil {
		return err
	}
	limit -= int64(len(head))
	if pad := min(f.pad, limit); pad > 0 {
		limit -= pad
		chunk := strings.Repeat(filler, int(min(512, pad/int64(len(filler))+1)))
		for pad > 0 {
			n, err := io.WriteString(w, chunk[:min(int64(len(chunk)), pad)])
			if err != nil {
				return err
			}
			pad -= int64(n)
		}
	}
	_, err := w.Write(f.tail[:min(int64(len(f.tail)), limit)])
	return err
}

// writeEvent writes the frame as one server-sent event, or half of it. Line
// breaks in the message become separate data lines, which the client joins by
// line feeds (HTML Standard, server-sent events).
func (f frame) writeEvent(w io.Writer, id string) error {
	if id != "" {
		if _, err := io.WriteString(w, "id: "+id+"\n"); err != nil {
			return err
		}
	}
	g := f
	g.head = append([]byte("event: message\ndata: "), dataLines(f.head)...)
	g.tail = append(dataLines(f.tail), '\n', '\n')
	if f.half {
		return g.writeTo(w, int64(len(g.head))-int64(len(f.head))+f.size()/2)
	}
	return g.writeTo(w, g.size())
}

func dataLines(b []byte) []byte {
	if !bytes.ContainsAny(b, "\r\n") {
		return bytes.Clone(b)
	}
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	b = bytes.ReplaceAll(b, []byte("\r"), []byte("\n"))
	return bytes.ReplaceAll(b, []byte("\n"), []byte("\ndata: "))
}
