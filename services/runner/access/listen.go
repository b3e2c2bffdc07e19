//go:build linux || darwin

package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
)

// MinToken is the minimum length of the token of --listen, in bytes.
const MinToken = 32

// Address is a parsed address of --listen.
type Address struct{ network, address string }

// ParseAddress parses 127.0.0.1:PORT or unix:PATH. Addresses that other computers
// can reach are errors.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if !filepath.IsAbs(path) {
			return Address{}, fmt.Errorf("--listen %s: use an absolute path", text)
		}
		return Address{"unix", path}, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("--listen %s: use 127.0.0.1:PORT or unix:PATH", text)
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return Address{}, fmt.Errorf("--listen %s: only this computer may reach a runner: use 127.0.0.1:PORT or unix:PATH", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Address{}, fmt.Errorf("--listen %s: %q is not a port", text, port)
	}
	return Address{"tcp", text}, nil
}

// Listen listens on the address.
func (a Address) Listen(ctx context.Context) (net.Listener, error) {
	if a.network == "unix" {
		return listenUnix(a.address)
	}
	return new(net.ListenConfig).Listen(ctx, a.network, a.address)
}

// Protect returns a handler that requires a bearer token, and refuses what a
// browser sends: requests with an Origin, and over TCP those with the name of
// another host (DNS rebinding).
func (a Address) Protect(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(sent))
		switch {
		case len(r.Header["Origin"]) > 0:
			http.Error(w, "requests of web pages are refused", http.StatusForbidden)
		case a.network == "tcp" && !isLoopback(r.Host):
			http.Error(w, "unknown host", http.StatusForbidden)
		case !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the bearer token is missing or wrong", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isLoopback reports whether a Host header names this computer.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback()
}
