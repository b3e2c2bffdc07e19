package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"mcpgateway/services/fault"
)

// urlLimit is the longest URL of an upstream, in bytes.
const urlLimit = 2048

// CheckURL returns nil for a URL that may be saved as an upstream's: http or
// https, with a host, and without user, password or fragment. Otherwise, and
// for a host that is an address no setting allows, it returns a
// VALIDATION_FAILED fault whose message says why; the caller knows the field.
// What a name resolves to is checked at each connection.
func CheckURL(raw string) error {
	if len(raw) > urlLimit {
		return refuse("the URL is longer than %d bytes", urlLimit)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return refuse("the URL cannot be read")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("the URL must begin with http:// or https://")
	case u.User != nil:
		return refuse("the URL must not hold a user name or password; use the credential fields")
	case u.Hostname() == "":
		return refuse("the URL has no host")
	case strings.Contains(raw, "#"):
		return refuse("the URL must not have a fragment (#)")
	}
	if strings.HasSuffix(u.Host, ":") || u.Port() != "" {
		if port, err := strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return refuse("the port must be a number from 1 to 65535")
		}
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && neverAllowed(addr.WithZone("")) {
		return refuse("%s", (&Blocked{Addr: addr, Never: true}).Error())
	}
	return nil
}

func refuse(format string, args ...any) error {
	return fault.New(fault.KindValidation, fault.CodeValidationFailed, format, args...)
}
