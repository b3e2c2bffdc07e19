package many

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mcpgateway/cmd/bench/measure"
	"mcpgateway/cmd/internal/stage"
)

// effectLimit is the timeout for a change to take effect.
const effectLimit = time.Minute

// Effects are the times from the response to a change on one replica until another
// one acts on it, in microseconds.
type Effects struct {
	KeyCreated     measure.Range `json:"keyCreatedUs"`
	KeyRevoked     measure.Range `json:"keyRevokedUs"`
	ServerDisabled measure.Range `json:"serverDisabledUs"`
	ServerEnabled  measure.Range `json:"serverEnabledUs"`
}

// client calls the administration of one replica and the endpoint of another.
type client struct {
	admin, endpoint string
	token           string
}

// measureEffects returns the times of changes of the largest project. It repeats
// each times times.
func measureEffects(ctx context.Context, c client, times int) (*Effects, error) {
	var took [4][]float64
	for n := range times {
		var key struct{ ID, Key string }
		since, err := c.change(ctx, http.MethodPost, "/api/projects/"+slug(0)+"/keys", fmt.Sprintf(`{"name":"measured %d"}`, n), &key)
		if err != nil {
			return nil, err
		}
		steps := []struct {
			method, path, body string
			want               func(status int, body string) bool
		}{
			{"", "", "", func(status int, _ string) bool { return status == http.StatusOK }},
			{http.MethodPatch, "/api/servers/" + serverID(0), `{"enabled":false}`, func(_ int, body string) bool { return !strings.Contains(body, `"s0__`) }},
			{http.MethodPatch, "/api/servers/" + serverID(0), `{"enabled":true}`, func(_ int, body string) bool { return strings.Contains(body, `"s0__`) }},
			{http.MethodDelete, "/api/keys/" + key.ID, "", func(status int, _ string) bool { return status == http.StatusUnauthorized }},
		}
		for i, step := range steps {
			if step.method != "" {
				if since, err = c.change(ctx, step.method, step.path, step.body, nil); err != nil {
					return nil, err
				}
			}
			if err := c.await(ctx, key.Key, step.want); err != nil {
				return nil, fmt.Errorf("%s %s: %w", step.method, step.path, err)
			}
			took[i] = append(took[i], float64(time.Since(since))/float64(time.Microsecond))
		}
	}
	return &Effects{measure.RangeOf(took[0]...), measure.RangeOf(took[3]...), measure.RangeOf(took[1]...), measure.RangeOf(took[2]...)}, nil
}

// change sends a request of the API and returns the time of its response.
func (c client) change(ctx context.Context, method, path, body string, into any) (time.Time, error) {
	status, response, err := send(ctx, method, "http://"+c.admin+path, c.token, body)
	done := time.Now()
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%s %s: status %d: %.300s", method, path, status, response)
	}
	if err == nil && into != nil {
		err = json.Unmarshal([]byte(response), into)
	}
	return done, err
}

// await lists the tools until want reports true.
func (c client) await(ctx context.Context, key string, want func(status int, body string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, effectLimit)
	defer cancel()
	for {
		status, body, err := send(ctx, http.MethodPost, "http://"+c.endpoint+stage.ProjectPath(slug(0)), key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if err != nil {
			return err
		}
		if want(status, body) {
			return nil
		}
		if err := stage.Pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

func send(ctx context.Context, method, address, token, body string) (status int, response string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+token)
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxPage))
	return r.StatusCode, string(raw), err
}
