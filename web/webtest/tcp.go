package webtest

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// DialTCP returns a connection that is closed when the test ends.
func DialTCP(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Posting returns a POST request with the body.
func Posting(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// RoundTrip sends bytes to a server and returns all responses until the server
// closes the connection. The last request must request that.
func RoundTrip(t *testing.T, addr, sent string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil && len(answer) == 0 { // a server that closes a connection with unread bytes may reset it
		t.Fatal(err)
	}
	return string(answer)
}
