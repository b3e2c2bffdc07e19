package gateway

import (
	"encoding/json"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// metaPath is the key in the `_meta` of an element that is listed to another
// gateway. Its value names the gateways between, the nearest one first.
const metaPath = "gateway/path"

// withPaths returns the raw elements of a list for another gateway, each with
// its path. What leads back to a gateway that asked, or would come through more
// than upstream.MaxHops gateways, is left out: gateways that list each other
// would list ever more otherwise.
func (g *Gateway) withPaths(elements []byte, hops []string) ([]byte, error) {
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
		_ = json.Unmarshal(meta.Get(metaPath), &path) // anything else is ignored
		if len(path)+2 > upstream.MaxHops ||          // with this gateway and the one that asks
			slices.ContainsFunc(path, func(id string) bool { return slices.Contains(hops, id) }) {
			continue
		}
		if meta == nil {
			meta, _ = rawjson.ParseObject([]byte("{}"), rawjson.Strict)
		}
		value, err := json.Marshal(append([]string{g.Instance}, path...))
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
