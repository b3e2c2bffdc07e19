// Package forward selects the headers of clients that servers receive.
package forward

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/net/http/httpguts"

	"mcpgateway/services/toolset"
)

// Headers returns the headers of a request that servers of the view receive, by
// canonical name, or nil. It leaves out headers of the connection, invalid values,
// and values with the caller's credential.
func Headers(c *fiber.Ctx, view *toolset.Snapshot) http.Header {
	var found http.Header
	for _, server := range view.Servers {
		for source := range server.Config.ForwardHeaders {
			if _, known := found[source]; known {
				continue
			}
			if values := forwardable(c, source); len(values) > 0 {
				if found == nil {
					found = http.Header{}
				}
				found[source] = values
			}
		}
	}
	return found
}

// forwardable returns the values of a header that can be forwarded.
func forwardable(c *fiber.Ctx, name string) []string {
	var given []string
	for _, value := range c.Request().Header.PeekAll(name) { // the next PeekAll overwrites them
		given = append(given, string(value))
	}
	if len(given) == 0 || isOfConnection(c, name) {
		return nil
	}
	_, credential, _ := strings.Cut(strings.TrimSpace(c.Get(fiber.HeaderAuthorization)), " ")
	credential = strings.TrimSpace(credential)
	var values []string
	for _, value := range given {
		if value == "" || !httpguts.ValidHeaderFieldValue(value) || credential != "" && strings.Contains(value, credential) {
			continue
		}
		values = append(values, value)
	}
	return values
}

// isOfConnection reports whether the Connection header names a header, which is then
// for this hop only (RFC 9110, section 7.6.1).
func isOfConnection(c *fiber.Ctx, name string) bool {
	for _, line := range c.Request().Header.PeekAll(fiber.HeaderConnection) {
		for option := range strings.SplitSeq(string(line), ",") {
			if textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(option)) == name {
				return true
			}
		}
	}
	return false
}
