package upstream

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"

	"mcpgateway/services/fault"
)

// maxForwardedBytes is the maximum size of the forwarded values of one request to a
// server.
const maxForwardedBytes = 8 << 10

// Forwarding are the headers of clients that a server receives. The zero value
// forwards none.
type Forwarding struct {
	names map[string]string // header of the client to that of the server
	key   []byte
}

// NewForwarding returns the Forwarding of names, which maps canonical names of the
// client's headers to those of the server's. Hashes of values are keyed with key.
func NewForwarding(names map[string]string, key []byte) Forwarding {
	return Forwarding{names: names, key: key}
}

// With returns the target for a request with headers of a client: t itself if it
// forwards none of them. Its sessions are separate from those of other values. It
// returns INVALID_PARAMETER for more than 8 KiB.
func (t *Target) With(client http.Header) (*Target, error) {
	given := map[string]string{}
	size := 0
	for source, target := range t.Forwarding.names {
		if values := client[source]; len(values) > 0 {
			given[target] = strings.Join(values, ", ")
			size += len(given[target])
		}
	}
	switch {
	case len(given) == 0:
		return t, nil
	case size > maxForwardedBytes:
		return nil, fault.Invalid("The headers that are forwarded to server %s have more than %d KiB. Nothing was sent.", t.Alias, maxForwardedBytes>>10)
	}
	with, headers := *t, t.Headers
	with.Forwarded = t.Forwarding.hash(given)
	with.Headers = func(ctx context.Context) (h http.Header, err error) {
		if headers != nil {
			if h, err = headers(ctx); err != nil {
				return nil, err
			}
		}
		all := make(http.Header, len(h)+len(given))
		maps.Copy(all, h)
		for name, value := range given {
			maps.DeleteFunc(all, func(other string, _ []string) bool { return strings.EqualFold(other, name) })
			all[name] = []string{value}
		}
		return all, nil
	}
	return &with, nil
}

// hash returns the keyed hash of headers.
func (f Forwarding) hash(given map[string]string) string {
	mac := hmac.New(sha256.New, f.key)
	write := func(text string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		mac.Write(size[:])
		mac.Write([]byte(text))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		write(name)
		write(given[name])
	}
	return hex.EncodeToString(mac.Sum(nil))
}
