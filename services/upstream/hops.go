package upstream

import (
	"slices"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/wire"
)

// HeaderHops lists the gateways that a request has passed, first one first,
// like CDN-Loop for content delivery networks (RFC 8586). A gateway that
// rejects a request because of it returns its own name in this response header.
const HeaderHops = wire.HeaderHops

// MaxHops is the maximum number of gateways that a request may pass.
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

// CheckHops returns LOOP_DETECTED if the request has already passed the gateway
// with this name, or MaxHops gateways.
func CheckHops(instance string, hops []string) error {
	switch {
	case slices.Contains(hops, instance):
		return fault.New(fault.KindLoop, fault.CodeLoopDetected, "Loop detected: a server points back to this gateway. Check the URLs of your servers.")
	case len(hops) >= MaxHops:
		return fault.New(fault.KindLoop, fault.CodeLoopDetected, "Loop detected: the request has passed %d gateways, the maximum. Connect to the last server directly.", MaxHops)
	}
	return nil
}
