package runners

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mcpgateway/services/redact"
	"mcpgateway/services/runners/wire"
)

// Limits of the lists of a runner, in bytes.
const (
	maxList  = 4 << 20
	maxName  = 256  // of a program; longer ones are refused
	maxText  = 1024 // of a message; longer ones are truncated
	maxFiles = 16
)

// refusal is the reason for which a runner is refused.
type refusal string

// Error returns the reason for people.
func (r refusal) Error() string { return string(r) }

// check refuses an unusable list and truncates its texts.
func check(l *wire.List) error {
	switch {
	case l.Version != wire.Version:
		return refusal(fmt.Sprintf("The runner uses version %d of the protocol, and this gateway version %d. Use the same release for both.", l.Version, wire.Version))
	case l.Runner == "" || len(l.Runner) > maxName:
		return refusal("The runner sent no valid ID.")
	case len(l.Servers) > wire.MaxServers:
		return refusal(fmt.Sprintf("The runner has %d programs. The maximum is %d.", len(l.Servers), wire.MaxServers))
	case len(l.Files) > maxFiles:
		return refusal(fmt.Sprintf("The runner has %d files. The maximum is %d.", len(l.Files), maxFiles))
	}
	for i := range l.Files {
		l.Files[i] = wire.File{Path: clip(l.Files[i].Path), SHA256: clip(l.Files[i].SHA256)}
	}
	for i := range l.Servers {
		s := &l.Servers[i]
		if s.Name == "" || len(s.Name) > maxName || strings.ContainsRune(s.Name, 0) {
			return refusal(fmt.Sprintf("The runner sent an invalid name of a program: %.40q.", s.Name))
		}
		s.Message, s.Program, s.LastExit, s.Hash = redact.Text(clip(s.Message)), clip(s.Program), clip(s.LastExit), clip(s.Hash)
	}
	return nil
}

// clip returns a text without null characters and with at most maxText bytes.
func clip(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// get reads the JSON of a path of the runner into out.
func get(ctx context.Context, client *wire.Client, path string, out any) error {
	resp, err := send(ctx, client, http.MethodGet, path)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return failure(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	if err != nil {
		return err
	}
	if len(body) > maxList {
		return refusal("The runner sent a response that is too large.")
	}
	return json.Unmarshal(body, out)
}

// failure returns what an unsuccessful response of the runner says.
func failure(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if text := said(body); text != "" {
		return refusal(text)
	}
	return refusal(fmt.Sprintf("The runner responded with HTTP %d.", resp.StatusCode))
}

// said returns the text of an error response, without texts that look like
// secrets: it can contain output of a program.
func said(body []byte) string {
	var object struct {
		wire.Error
		RPC wire.Error `json:"error"` // in a JSON-RPC response
	}
	if json.Unmarshal(body, &object) == nil {
		return redact.Text(clip(cmp.Or(object.Message, object.RPC.Message)))
	}
	return redact.Text(clip(string(bytes.TrimSpace(body))))
}

// events is the stream of a runner's lists.
type events struct {
	body io.ReadCloser
}

// openEvents opens the stream of lists.
func openEvents(ctx context.Context, client *wire.Client) (*events, error) {
	resp, err := send(ctx, client, http.MethodGet, wire.PathEvents)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		err := failure(resp)
		_ = resp.Body.Close()
		return nil, err
	}
	return &events{body: resp.Body}, nil
}

// Close ends the stream.
func (e *events) Close() { _ = e.body.Close() }

// read sends each list to lists, of which the newest replaces an unread one. It
// returns why the stream ended.
func (e *events) read(lists chan wire.List) error {
	scanner := bufio.NewScanner(e.body)
	scanner.Buffer(nil, maxList)
	for scanner.Scan() {
		data, isData := bytes.CutPrefix(scanner.Bytes(), []byte("data:"))
		if !isData { // each list is one line
			continue
		}
		var list wire.List
		if err := json.Unmarshal(data, &list); err != nil {
			return refusal("The runner sent an invalid list of programs.")
		}
		if err := check(&list); err != nil {
			return err
		}
		select {
		case <-lists:
		default:
		}
		lists <- list // only this goroutine sends
	}
	if scanner.Err() != nil {
		return scanner.Err()
	}
	return ErrEnded
}
