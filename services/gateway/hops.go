package gateway

import (
	"encoding/json"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// metaPath is the _meta key of elements in lists for other gateways. Its value
// names the gateways on the path to the server, nearest first.
const metaPath = "gateway/path"

// withPaths adds the path to each raw element of a list for another gateway. It
// omits elements whose path contains one of hops, the requesting gateways, or
// would exceed upstream.MaxHops. Otherwise the lists of gateways that list each
// other would grow without limit.
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
		_ = json.Unmarshal(meta.Get(metaPath), &path) // an invalid path is ignored
		if len(path)+2 > upstream.MaxHops ||          // plus this gateway and the requesting one
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
