package icons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"mcpgateway/services/egress"
)

// refusal is the error of an icon that is not taken. It has no text of the host that sent it.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, values ...any) error { return &refusal{fmt.Sprintf(format, values...)} }

// reasonOf returns the reason of a failed fetch.
func reasonOf(err error) string {
	var r *refusal
	var blocked *egress.Blocked
	var timeout net.Error
	switch {
	case errors.As(err, &r):
		return r.text
	case errors.As(err, &blocked):
		return "its address is not allowed"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no complete response within %v", fetchTimeout)
	}
	return "its host cannot be reached"
}

// fetch returns the icon at a URL as a PNG of 64×64. The media type of the
// response is ignored.
func (s *Icons) fetch(ctx context.Context, address string) ([]byte, error) {
	reading, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	raw, err := s.read(reading, address)
	if err != nil {
		return nil, err
	}
	s.decoding.Lock()
	defer s.decoding.Unlock()
	decoding, cancel := context.WithTimeout(ctx, decodeTimeout)
	defer cancel()
	return convert(decoding, raw)
}

// read returns the body of a response, at most 256 KiB.
func (s *Icons) read(ctx context.Context, address string) ([]byte, error) {
	if egress.CheckURL(address) != nil {
		return nil, refuse("its URL is invalid")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, refuse("its URL is invalid")
	}
	request.Header.Set("Accept", "image/png, image/webp, image/jpeg, image/gif, image/x-icon")
	request.Header.Set("Accept-Encoding", "identity")
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, refuse("its redirect is not followed")
	case response.StatusCode != http.StatusOK:
		return nil, refuse("HTTP %d", response.StatusCode)
	case response.Header.Get("Content-Encoding") != "" && response.Header.Get("Content-Encoding") != "identity":
		return nil, refuse("the response is compressed")
	case response.ContentLength > maxBytes:
		return nil, refuse("it is larger than %d KiB", maxBytes>>10)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxBytes {
		return nil, refuse("it is larger than %d KiB", maxBytes>>10)
	}
	return raw, nil
}
