package upstream

import (
	"slices"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/wire"
)

// HeaderHops names the gateways that a request has passed, the first one first,
// as CDN-Loop does for content delivery networks (RFC 8586). A gateway that
// refuses a request because of it puts its own name into this response header.
const HeaderHops = wire.HeaderHops

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
