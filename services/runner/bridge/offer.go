//go:build linux || darwin

package bridge

import (
	"bytes"
	"encoding/json"

	"mcpgateway/services/capabilities"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/wire"
)

// An offer is the params of initialize with sorted members: revision, capabilities
// and the gateway as the client. Clients with equal offers share a process.

// maxDeclared is the maximum number of offers whose original bytes are kept.
const maxDeclared = 256

// maxCapabilities is the maximum size of a capabilities object in bytes.
const maxCapabilities = 64 << 10

const metaCapabilities = "io.modelcontextprotocol/clientCapabilities"

// relaysRoots reports whether clients' roots are relayed to the program.
func (b *Bridge) relaysRoots() bool {
	e := b.options.Entry()
	return e.Roots && e.PerClient
}

// offerOf returns the offer in the params of a client's initialize.
func (b *Bridge) offerOf(params []byte) (string, error) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return "", wire.InvalidParams(err)
	}
	version, _ := o.String("protocolVersion")
	if !wire.IsRevision(version) {
		return "", fault.Invalid("%q is not a protocol version.", wire.Excerpt([]byte(version)))
	}
	declared := wire.Object(o.Get("capabilities"))
	if declared == nil {
		declared = []byte("{}")
	}
	if len(declared) > maxCapabilities {
		return "", fault.Invalid("The capabilities are larger than %d KiB.", maxCapabilities>>10)
	}
	if !b.relaysRoots() {
		declared = withoutRoots(declared)
	}
	return b.offer(version, declared), nil
}

// offer returns the offer of a revision and a raw capabilities object.
func (b *Bridge) offer(version string, declared []byte) string {
	params := b.self.InitializeParams(version, declared)
	of := sorted(params)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.declared) < maxDeclared {
		b.declared[of] = params
	}
	return of
}

// listingOffer returns the offer of the gateway's own sessions.
func (b *Bridge) listingOffer() string {
	return b.offer(wire.Revision20251125, syncCapabilities(b.relaysRoots()))
}

// paramsOf returns the params of an offer, as the first client wrote them if they are
// still known.
func (b *Bridge) paramsOf(of string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if params := b.declared[of]; params != nil {
		return bytes.Clone(params)
	}
	return []byte(of)
}

// syncCapabilities returns the capabilities of the gateway's own sessions.
func syncCapabilities(roots bool) []byte {
	if roots {
		return []byte(capabilities.Sync)
	}
	return withoutRoots([]byte(capabilities.Sync))
}

// withoutRoots returns a capabilities object without the roots.
func withoutRoots(declared []byte) []byte {
	o, err := rawjson.ParseObject(declared, rawjson.Lenient)
	if err != nil || !o.Delete("roots") {
		return declared
	}
	return o.Bytes()
}

// withoutRootsInMeta returns params of revision 2026-07-28 whose capabilities lack the
// roots.
func withoutRootsInMeta(params []byte) []byte {
	if !bytes.Contains(params, []byte("roots")) && !bytes.Contains(params, []byte(`\u`)) {
		return params
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return params
	}
	meta := o.Object("_meta")
	declared := meta.Get(metaCapabilities)
	if declared == nil {
		return params
	}
	meta.Set(metaCapabilities, withoutRoots(declared))
	o.Set("_meta", meta.Bytes())
	return o.Bytes()
}

// sorted returns a JSON object with the members of all objects in order.
func sorted(raw []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if decoder.Decode(&value) != nil || encoder.Encode(value) != nil {
		return string(raw)
	}
	return string(bytes.TrimSpace(out.Bytes()))
}
