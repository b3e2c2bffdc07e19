package oidc

import (
	"bytes"
	"encoding/json"
	"strings"

	"mcpgateway/services/access/groups"
)

// reported is the groups claim of one document: an ID token or the user info.
type reported struct {
	present bool     // the claim is in the document
	values  []string // empty for a claim in an unexpected form
	overage bool     // the provider left the claim out because of its size
}

// or returns the groups of the first document that has the claim. The provider
// left the groups out if none has it and one reports an overage.
func (g reported) or(next reported) reported {
	if g.present || next.present {
		if g.present {
			return g
		}
		return next
	}
	return reported{overage: g.overage || next.overage}
}

func (g reported) report() groups.Report {
	return groups.Report{Values: g.values, Overage: g.overage && !g.present}
}

// document is an ID token or the user info.
type document interface{ Claims(v any) error }

// claims returns the claims of a document, with the groups only if the
// challenge requests them.
func (p *Provider) claims(d document, q Challenge) (claims, error) {
	var c claims
	if err := d.Claims(&c); err != nil || !q.Groups {
		return c, err
	}
	var all map[string]json.RawMessage
	if err := d.Claims(&all); err != nil {
		return c, err
	}
	c.groups = readGroups(all, p.options.GroupsClaim)
	return c, nil
}

// readGroups returns the groups of a document's claims. name is the exact name
// of the claim or, if there is none, a path with dots. A claim that is null is
// absent. Overage is reported like Microsoft Entra ID does: in place of the
// claim there is hasgroups, or _claim_names refers to another document (OpenID
// Connect Core 1.0, section 5.6.2), which is not read.
func readGroups(all map[string]json.RawMessage, name string) reported {
	raw, ok := all[name]
	if !ok || isNull(raw) {
		raw, ok = descend(all, strings.Split(name, "."))
	}
	if ok && !isNull(raw) {
		return reported{present: true, values: readValues(raw)}
	}
	var names map[string]json.RawMessage
	var has claimBool
	_ = json.Unmarshal(all["_claim_names"], &names) // no object names nothing
	_ = json.Unmarshal(all["hasgroups"], &has)
	_, named := names[name]
	return reported{overage: named || bool(has)}
}

// descend returns the value at a path of objects.
func descend(all map[string]json.RawMessage, path []string) (json.RawMessage, bool) {
	raw, ok := all[path[0]]
	if !ok || len(path) == 1 {
		return raw, ok
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(raw, &inner) != nil {
		return nil, false
	}
	return descend(inner, path[1:])
}

// readValues returns the values of a claim: a string or an array of strings. It
// returns nil for any other form, and beyond a limit.
func readValues(raw json.RawMessage) []string {
	var values []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		values = []string{one}
	} else {
		var many []*string // null must not become an empty string
		if json.Unmarshal(raw, &many) != nil || len(many) > groups.MaxValues {
			return nil
		}
		for _, value := range many {
			if value == nil {
				return nil
			}
			values = append(values, *value)
		}
	}
	for _, value := range values {
		if len(value) > groups.MaxClaim {
			return nil
		}
	}
	return values
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }
