package socket_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"mcpgateway/services/runners/socket"
)

// pair returns both ends of a connection. Text messages to the first one arrive
// on a channel.
func pair(t *testing.T, one, two socket.Options) (a, b *socket.Conn) {
	t.Helper()
	made := make(chan *socket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		made <- socket.New(ws, one)
	}))
	t.Cleanup(server.Close)
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b = <-made, socket.New(ws, two)
	t.Cleanup(func() {
		a.Release()
		b.Release()
	})
	return a, b
}

func TestStreamPassesBesideTexts(t *testing.T) {
	texts := make(chan string, 10)
	a, b := pair(t, socket.Options{Text: func(m []byte) { texts <- string(m) }}, socket.Options{})
	sent := make([]byte, 300_000)
	_, _ = rand.Read(sent)
	failed := make(chan error, 1)
	go func() {
		_, err := b.Write(sent[:100_000])
		err = errors.Join(err, b.SendText(socket.Notice{Replicas: []string{"r"}}))
		_, more := b.Write(sent[100_000:])
		failed <- errors.Join(err, more)
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(a, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("the stream differs, %v", err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if text := <-texts; text != `{"replicas":["r"]}` {
		t.Errorf("text %s", text)
	}
}

func TestReasonOfTheEndIsSent(t *testing.T) {
	a, b := pair(t, socket.Options{}, socket.Options{})
	if err := a.CloseWith(socket.CodeRevoked, "the token was revoked"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("Read: %v", err)
	}
	if r := b.Reason(); r == nil || r.Code != socket.CodeRevoked || r.Text != "the token was revoked" {
		t.Errorf("reason %+v", r)
	}
	if _, err := a.Write([]byte("x")); err == nil {
		t.Error("a closed connection accepts data")
	}
	if _, err := a.Read(make([]byte, 1)); err == nil {
		t.Error("a closed connection returns data")
	}
}

func TestSilentConnectionsEnd(t *testing.T) {
	a, b := pair(t, socket.Options{}, socket.Options{Dead: 50 * time.Millisecond})
	if _, err := b.Read(make([]byte, 1)); err == nil {
		t.Error("Read of a silent connection returned data")
	}
	<-b.Done()
	_ = a.Close()
}

func TestPingsKeepConnections(t *testing.T) {
	a, b := pair(t, socket.Options{Ping: 10 * time.Millisecond, Dead: 200 * time.Millisecond}, socket.Options{Dead: 200 * time.Millisecond})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.Read(make([]byte, 1))
	}()
	go func() { _, _ = a.Read(make([]byte, 1)) }()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		a.KeepAlive(t.Context(), nil, nil)
	}()
	select {
	case <-ended:
		t.Fatal("a connection with pings ended")
	case <-time.After(600 * time.Millisecond):
	}
	_ = a.Close()
	<-ended
	<-kept
}

func TestFirstMessage(t *testing.T) {
	a, b := pair(t, socket.Options{}, socket.Options{})
	if err := a.SendText(socket.Hello{Version: 1, Replica: "r"}); err != nil {
		t.Fatal(err)
	}
	if text, err := b.ReceiveText(time.Minute); err != nil || string(text) != `{"version":1,"replica":"r","replicas":null}` {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := b.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ReceiveText(time.Minute); err == nil {
		t.Error("binary data counts as the first message")
	}
	if _, err := b.ReceiveText(10 * time.Millisecond); err == nil {
		t.Error("a missing message was received")
	}
}
