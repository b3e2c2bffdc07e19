package load

import (
	"bytes"
	"fmt"

	"github.com/valyala/fasthttp"

	"mcpgateway/services/rawjson"
)

// maxShown is the maximum number of response bytes quoted in an error.
const maxShown = 300

// result returns the result of a JSON-RPC response. It returns an error for any
// other response and for another id.
func result(response *fasthttp.Response, id string) (*rawjson.Object, error) {
	body := response.Body()
	if status := response.StatusCode(); status != fasthttp.StatusOK {
		return nil, fmt.Errorf("HTTP %d: %s", status, shown(body))
	}
	if mediaType := response.Header.ContentType(); bytes.HasPrefix(mediaType, []byte("text/event-stream")) {
		body = lastEvent(body)
	}
	message, err := rawjson.ParseObject(body, rawjson.Lenient)
	if err != nil {
		return nil, fmt.Errorf("response is not a JSON object: %s", shown(body))
	}
	if got := string(message.Get("id")); got != id {
		return nil, fmt.Errorf("response id %q, want %s: %s", got, id, shown(body))
	}
	r := message.Object("result")
	if r == nil {
		return nil, fmt.Errorf("response without result: %s", shown(body))
	}
	return r, nil
}

// checkEcho returns an error unless the response has this id and its result has
// one content block with this text.
func checkEcho(response *fasthttp.Response, id, text string) error {
	r, err := result(response, id)
	if err != nil {
		return err
	}
	if string(r.Get("isError")) == "true" {
		return fmt.Errorf("tool failed: %s", shown(response.Body()))
	}
	blocks, err := rawjson.Elements(r.Get("content"), rawjson.Lenient)
	if err != nil || len(blocks) != 1 {
		return fmt.Errorf("result does not have exactly one content block: %s", shown(response.Body()))
	}
	block, err := rawjson.ParseObject(blocks[0], rawjson.Lenient)
	if err != nil {
		return fmt.Errorf("content block is not an object: %s", shown(response.Body()))
	}
	if got, _ := block.String("text"); got != text {
		return fmt.Errorf("tool returned %q, want %q", shown([]byte(got)), shown([]byte(text)))
	}
	return nil
}

// lastEvent returns the data of the last event that has data.
func lastEvent(stream []byte) (data []byte) {
	for line := range bytes.Lines(stream) {
		if value, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok {
			data = value
		}
	}
	return data
}

func shown(raw []byte) string {
	if len(raw) > maxShown {
		return string(raw[:maxShown]) + "…"
	}
	return string(raw)
}
