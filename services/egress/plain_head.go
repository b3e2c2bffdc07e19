package egress

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// readPlainResponse reads the header of an answer. That of most answers lies in
// the buffer as a whole and says the length of the body, and is split here; all
// else is left to net/http, which takes three times as long.
func readPlainResponse(in *bufio.Reader, req *http.Request) (*http.Response, error) {
	if _, err := in.Peek(1); err != nil {
		return http.ReadResponse(in, req) // whose errors are known
	}
	buffered, _ := in.Peek(in.Buffered())
	end := bytes.Index(buffered, endOfHeader)
	if end < 0 || req.Method != http.MethodPost {
		return http.ReadResponse(in, req)
	}
	resp := splitHeader(string(buffered[:end]))
	if resp == nil {
		return http.ReadResponse(in, req)
	}
	_, _ = in.Discard(end + len(endOfHeader))
	resp.Request = req
	resp.Body = http.NoBody
	if resp.ContentLength > 0 {
		resp.Body = &lengthBody{in: in, left: resp.ContentLength}
	}
	return resp, nil
}

var endOfHeader = []byte("\r\n\r\n")

// plainStatus is how the status line of an answer begins that is split here.
const plainStatus = "HTTP/1.1 "

// splitHeader returns the answer to a POST whose header is head, up to the empty
// line and without a body, or nil when anything about it is unusual.
func splitHeader(head string) *http.Response {
	status, rest, _ := strings.Cut(head, "\r\n")
	if !strings.HasPrefix(status, plainStatus) || len(status) < len(plainStatus)+3 {
		return nil
	}
	status = status[len(plainStatus):]
	code, err := strconv.ParseUint(status[:3], 10, 16)
	if err != nil || code < 200 || code == http.StatusNoContent || code == http.StatusNotModified || len(status) > 3 && status[3] != ' ' {
		return nil
	}
	resp := &http.Response{
		Status: status, StatusCode: int(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}
	lines := strings.Count(rest, "\n") + 1
	resp.Header = make(http.Header, lines)
	values := make([]string, 0, lines)
	for more := rest != ""; more; {
		var line string
		line, rest, more = strings.Cut(rest, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil
		}
		name = http.CanonicalHeaderKey(name)
		if _, again := resp.Header[name]; again || speaksOfConnection(name) {
			return nil
		}
		if name == "Content-Length" {
			length, err := strconv.ParseUint(value, 10, 62)
			if err != nil {
				return nil
			}
			resp.ContentLength = int64(length)
		}
		values = append(values, value)
		resp.Header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if resp.ContentLength < 0 {
		return nil
	}
	return resp
}

// speaksOfConnection reports whether a header, by its canonical name, says how
// the body is sent or what becomes of the connection.
func speaksOfConnection(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Transfer-Encoding", "Trailer", "Upgrade":
		return true
	}
	return false
}

// lengthBody is a body of known length.
type lengthBody struct {
	in   *bufio.Reader
	left int64
}

// Read is of io.Reader.
func (b *lengthBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close is of io.Closer.
func (b *lengthBody) Close() error { return nil }
