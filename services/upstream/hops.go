package upstream

import (
	"net/http"
	"slices"
	"strings"

	"mcpgateway/services/fault"
)

// HeaderHops names the gateways that a request has passed, the first one first,
// as CDN-Loop does for content delivery networks (RFC 8586). A gateway that
// refuses a request because of it puts its own name into this response header.
const HeaderHops = "Gateway-Hops"

// MaxHops is the number of gateways that a request may pass.
const MaxHops = 3

// Hops returns the names in the values of the Gateway-Hops header.
func Hops(values ...string) []string {
	var hops []string
	for _, value := range values {
		for hop := range strings.SplitSeq(value, ",") {
			if hop = strings.TrimSpace(hop); hop != "" {
				hops = append(hops, hop)
			}
		}
	}
	return hops
}

// CheckHops returns LOOP_DETECTED for a request that has passed the gateway of
// this name before, and for one that has passed MaxHops gateways.
func CheckHops(instance string, hops []string) error {
	switch {
	case slices.Contains(hops, instance):
		return fault.New(fault.KindLoop, fault.CodeLoopDetected, "the request has passed this gateway before: a server points back to it")
	case len(hops) >= MaxHops:
		return fault.New(fault.KindLoop, fault.CodeLoopDetected, "the request has passed %d gateways already, and no more are allowed", MaxHops)
	}
	return nil
}

// hopsWith returns the header value for the request of a client that came with
// these hops.
func (p *Pool) hopsWith(client string) string {
	return strings.Join(append(Hops(client), Hops(p.instance)...), ", ")
}

// refusal returns the error for a non-2xx HTTP response with the body.
func (p *poster) refusal(resp *http.Response, body []byte) error {
	if resp.StatusCode != http.StatusLoopDetected {
		return p.place.refused(resp, body)
	}
	f := p.place.invalid("leads in a circle, or through more than %d gateways", MaxHops)
	if p.instance != "" && resp.Header.Get(HeaderHops) == p.instance {
		f = p.place.invalid("points back to this gateway")
	}
	return &refusal{status: resp.StatusCode, fault: f}
}
