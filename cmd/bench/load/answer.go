package load

import (
	"bytes"
	"fmt"

	"github.com/valyala/fasthttp"

	"mcpgateway/services/rawjson"
)

// maxShown is how many bytes of a wrong answer an error tells.
const maxShown = 300

// result returns the result of an answer with this id. The error says what it
// is instead.
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
		return nil, fmt.Errorf("the answer is no JSON object: %s", shown(body))
	}
	if got := string(message.Get("id")); got != id {
		return nil, fmt.Errorf("the answer has the id %q, not %s: %s", got, id, shown(body))
	}
	r := message.Object("result")
	if r == nil {
		return nil, fmt.Errorf("the answer holds no result: %s", shown(body))
	}
	return r, nil
}

// checkEcho returns an error unless the answer is the result of a call with
// this id and has text as its one block.
func checkEcho(response *fasthttp.Response, id, text string) error {
	r, err := result(response, id)
	if err != nil {
		return err
	}
	if string(r.Get("isError")) == "true" {
		return fmt.Errorf("the tool failed: %s", shown(response.Body()))
	}
	blocks, err := rawjson.Elements(r.Get("content"), rawjson.Lenient)
	if err != nil || len(blocks) != 1 {
		return fmt.Errorf("the result does not have one block of content: %s", shown(response.Body()))
	}
	block, err := rawjson.ParseObject(blocks[0], rawjson.Lenient)
	if err != nil {
		return fmt.Errorf("the content is no object: %s", shown(response.Body()))
	}
	if got, _ := block.String("text"); got != text {
		return fmt.Errorf("the tool answered %q, not %q", shown([]byte(got)), shown([]byte(text)))
	}
	return nil
}

// lastEvent returns the data of the last event of a stream that has any.
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
