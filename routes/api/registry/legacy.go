package registry

import (
	"strings"

	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
)

// legacy returns the search by legacy parameters. Empty and unknown parameters
// are ignored.
func (p parameters) legacy() (catalog.Legacy, error) {
	l := catalog.Legacy{Search: p.first("search"), Publisher: p.first("publisher"), Type: p.first("type"), Tag: p.first("tag")}
	for _, name := range []string{"search", "publisher", "type", "tag"} {
		if len(p.first(name)) > query.MaxCodePoints {
			return l, fault.Invalid("%s has %d bytes; the maximum is %d. Shorten it.", name, len(p.first(name)), query.MaxCodePoints)
		}
	}
	var err error
	if l.Limit, err = (page.Range{Name: "limit", Min: 1, Max: catalog.LegacyMaxLimit, Default: catalog.LegacyDefaultLimit}).Parse(p.first("limit")); err != nil {
		return l, err
	}
	if l.Offset, err = (page.Range{Name: "offset", Min: 0, Max: catalog.LegacyMaxOffset}).Parse(p.first("offset")); err != nil {
		return l, err
	}
	if l.Verified, err = p.flag("verified"); err != nil {
		return l, err
	}
	if l.Featured, err = p.flag("featured"); err != nil {
		return l, err
	}
	tools, err := p.flag("requireTools")
	l.RequireTools = tools != nil && *tools
	return l, err
}

// flag returns a boolean parameter, or nil if it is absent.
func (p parameters) flag(name string) (*bool, error) {
	value := false
	switch strings.ToLower(p.first(name)) {
	case "":
		return nil, nil
	case "true", "1":
		value = true
	case "false", "0":
	default:
		return nil, fault.Invalid("%s must be true or false.", name)
	}
	return &value, nil
}
