package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"mcpgateway/services/fault"
)

// urlLimit is the maximum length of an upstream URL, in bytes.
const urlLimit = 2048

// CheckURL returns nil for a valid upstream URL: http or https, with a host,
// and without user, password or fragment. Otherwise, and for a host address on
// the denylist, it returns VALIDATION_FAILED. The message doesn't include the
// field. Resolved addresses are checked at each connection.
func CheckURL(raw string) error {
	if len(raw) > urlLimit {
		return refuse("The URL is longer than %d bytes.", urlLimit)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return refuse("The URL is invalid.")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("The URL must start with http:// or https://.")
	case u.User != nil:
		return refuse("The URL must not contain a user name or password. Use the credential fields.")
	case u.Hostname() == "":
		return refuse("The URL has no host.")
	case strings.Contains(raw, "#"):
		return refuse("The URL must not have a fragment (#).")
	}
	if strings.HasSuffix(u.Host, ":") || u.Port() != "" {
		if port, err := strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return refuse("The port must be a number from 1 to 65535.")
		}
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && isDenied(addr.WithZone("")) {
		return refuse("%s", (&Blocked{Addr: addr, Never: true}).Error())
	}
	return nil
}

func refuse(format string, args ...any) error {
	return fault.New(fault.KindValidation, fault.CodeValidationFailed, format, args...)
}
