package upstream

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
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

// metaPath is the _meta key of elements in lists for other gateways. Its value
// names the gateways on the path to the server, nearest first.
const metaPath = "gateway/path"

// WithPaths adds the path, which begins with the gateway of the given name, to each
// raw element of a list for another gateway. It
// omits elements whose path contains one of hops, the requesting gateways, or
// would exceed MaxHops. Otherwise the lists of gateways that list each
// other would grow without limit.
func WithPaths(instance string, elements []byte, hops []string) ([]byte, error) {
	all, err := rawjson.Elements(elements, rawjson.Lenient)
	if err != nil {
		return nil, fault.Internal(err)
	}
	out := []byte{'['}
	for _, raw := range all {
		element, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return nil, fault.Internal(err)
		}
		meta := element.Object("_meta")
		var path []string
		_ = json.Unmarshal(meta.Get(metaPath), &path) // an invalid path is ignored
		if len(path)+2 > MaxHops ||                   // plus this gateway and the requesting one
			slices.ContainsFunc(path, func(id string) bool { return slices.Contains(hops, id) }) {
			continue
		}
		if meta == nil {
			meta, _ = rawjson.ParseObject([]byte("{}"), rawjson.Strict)
		}
		value, err := json.Marshal(append([]string{instance}, path...))
		if err != nil {
			return nil, fault.Internal(err)
		}
		meta.Set(metaPath, value)
		element.Set("_meta", meta.Bytes())
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = element.AppendTo(out)
	}
	return append(out, ']'), nil
}
