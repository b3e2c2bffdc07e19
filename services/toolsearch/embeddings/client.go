package embeddings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"mcpgateway/services/egress"
)

// refusal is the error of a request that the endpoint does not accept because of
// its texts.
type refusal struct{ status int }

// Error implements error.
func (r *refusal) Error() string {
	return fmt.Sprintf("the endpoint refused the text: HTTP %d", r.status)
}

// embed returns the vectors of texts, in their order. Errors have no text of the
// endpoint, which might contain the key.
func (e *Embeddings) embed(ctx context.Context, texts []string) ([]vector, error) {
	body, err := json.Marshal(struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}{e.Model, texts})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL is invalid")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if key := e.Key.Reveal(); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := e.Client.Do(request)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return nil, &refusal{response.StatusCode}
	default:
		return nil, fmt.Errorf("the endpoint responded with HTTP %d", response.StatusCode)
	}
	if media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, errors.New("the response is not JSON")
	}
	limit := len(texts)*maxDimensions*maxNumberBytes + responseExtra
	raw, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, reasonOf(err)
	case len(raw) > limit:
		return nil, fmt.Errorf("the response is larger than %d bytes", limit)
	}
	return readVectors(raw, len(texts))
}

// readVectors returns the vectors of a response to n texts. All have the same
// dimensions.
func readVectors(raw []byte, n int) ([]vector, error) {
	var response struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if json.Unmarshal(raw, &response) != nil {
		return nil, errors.New("the response has another form than a list of embeddings")
	}
	if len(response.Data) != n {
		return nil, fmt.Errorf("the response has %d vectors for %d texts", len(response.Data), n)
	}
	vectors := make([]vector, n)
	for i, d := range response.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= n || vectors[i].bytes != nil {
			return nil, errors.New("the response has two vectors for a text")
		}
		v, err := newVector(d.Embedding)
		if err != nil {
			return nil, err
		}
		if vectors[i] = v; len(v.bytes) != len(response.Data[0].Embedding) {
			return nil, errors.New("the vectors have different dimensions")
		}
	}
	return vectors, nil
}

// reasonOf returns the reason of a failed request without its URL.
func reasonOf(err error) error {
	var blocked *egress.Blocked
	switch {
	case errors.As(err, &blocked):
		return blocked
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no complete response in time")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	return errors.New("the endpoint cannot be reached")
}
