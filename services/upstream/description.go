package upstream

import (
	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/wire"
)

// Description is an upstream's description of itself.
type Description struct {
	ProtocolVersion string
	Transport       models.Transport // the one in use, never auto
	ServerInfo      []byte           // a raw JSON object, or nil
	Capabilities    []byte           // a raw JSON object, or nil
	Instructions    string
	// Handshake reports whether an upstream of revision 2026-07-28 also has one
	// with a handshake.
	Handshake bool
}

// Discover sets the fields from the result of server/discover. It reports
// whether the upstream supports revision 2026-07-28.
func (d *Description) Discover(result []byte) bool {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return false
	}
	d.Handshake = wire.HoldsHandshake(o.Get("supportedVersions"))
	if !wire.HoldsRevision(o.Get("supportedVersions")) {
		return false
	}
	d.Capabilities = wire.Object(o.Get("capabilities"))
	d.Instructions, _ = o.String("instructions")
	if d.ServerInfo = wire.Object(o.Object("_meta").Get(wire.MetaServerInfo)); d.ServerInfo == nil {
		d.ServerInfo = wire.Object(o.Get("serverInfo"))
	}
	return true
}

// IsSame reports whether two descriptions have the same server info and
// capabilities.
func (d *Description) IsSame(other *Description) bool {
	return string(d.ServerInfo) == string(other.ServerInfo) && string(d.Capabilities) == string(other.Capabilities)
}

// Has reports whether the upstream declares a capability.
func (d *Description) Has(feature string) bool {
	if d.Capabilities == nil {
		return false
	}
	o, err := rawjson.ParseObject(d.Capabilities, rawjson.Lenient)
	return err == nil && o.Get(feature) != nil && rawjson.Kind(o.Get(feature)) != 'n'
}

// HasExtension reports whether the upstream declares an extension.
func (d *Description) HasExtension(name string) bool {
	if d.Capabilities == nil {
		return false
	}
	o, err := rawjson.ParseObject(d.Capabilities, rawjson.Lenient)
	return err == nil && rawjson.Kind(o.Object("extensions").Get(name)) == '{'
}

// HasPart reports whether the upstream declares a part of a capability.
func (d *Description) HasPart(feature, part string) bool {
	if d.Capabilities == nil {
		return false
	}
	o, err := rawjson.ParseObject(d.Capabilities, rawjson.Lenient)
	return err == nil && string(o.Object(feature).Get(part)) == "true"
}
