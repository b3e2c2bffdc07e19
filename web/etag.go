package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// ETag returns the strong entity tag (RFC 9110, section 8.8.3) for the
// combination of the parts, such as a revision and a request.
func ETag(parts ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return `"` + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:15]) + `"`
}

// Unchanged sets ETag and Cache-Control on the response. If the client has the
// current representation (RFC 9110, section 13.1.2), it also sets status 304
// and returns true, and the handler is done.
func Unchanged(c *fiber.Ctx, etag, cacheControl string) bool {
	c.Set(fiber.HeaderETag, etag)
	c.Set(fiber.HeaderCacheControl, cacheControl)
	if !hasTag(c.Get(fiber.HeaderIfNoneMatch), etag) {
		return false
	}
	c.Status(fiber.StatusNotModified)
	return true
}

// hasTag reports whether an If-None-Match header contains the tag. It compares
// weakly, because a compressing proxy may have weakened the tag.
func hasTag(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}
