package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// healthcheck checks the readiness of a running gateway, for container
// supervisors that can only run a program.
func healthcheck(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "healthcheck")
	url := fs.String("url", "", "URL of the gateway (default from GATEWAY_ADDR)")
	if err := parse(fs, args); err != nil {
		return err
	}
	base := *url
	if base == "" {
		c, err := configure(std, "")
		if err != nil {
			return err
		}
		base = "http://" + reachable(c.Addr)
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return usagef("%v", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	_, err = fmt.Fprintln(std.out, "ready")
	return err
}

// reachable returns the address to dial for a listen address. A wildcard
// address is reachable on loopback.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
