package apps

import (
	"regexp"
	"strings"

	"mcpgateway/services/rawjson"
)

// MaxSources is the maximum number of sources of a kind.
const MaxSources = 50

// Policy names the origins that a document may use beyond itself. The zero value
// allows none.
type Policy struct {
	Connect, Load, Frame, Base []string
	// Refused are declared sources that are not allowed: only origins with
	// https or wss are.
	Refused []string
}

// source matches an origin with an optional wildcard for subdomains and an
// optional port. It has no character with a meaning in a Content-Security-Policy.
var source = regexp.MustCompile(`\A(?:https|wss)://(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?/?\z`)

// policyOf returns the policy of a declared `_meta.ui.csp`, which may be nil.
func policyOf(csp *rawjson.Object) (p Policy) {
	for _, kind := range []struct {
		member string
		allow  *[]string
	}{{"connectDomains", &p.Connect}, {"resourceDomains", &p.Load}, {"frameDomains", &p.Frame}, {"baseUriDomains", &p.Base}} {
		declared, err := rawjson.Elements(csp.Get(kind.member), rawjson.Lenient)
		if err != nil {
			continue // absent, or not a list
		}
		for i, raw := range declared {
			text, ok := rawjson.String(raw)
			switch {
			case ok && i < MaxSources && source.MatchString(text):
				*kind.allow = append(*kind.allow, strings.TrimSuffix(text, "/"))
			case len(p.Refused) < MaxSources:
				p.Refused = append(p.Refused, clip(text))
			}
		}
	}
	return p
}

// Header returns the Content-Security-Policy of the document in a frame of the
// same site. The document has an opaque origin: it can't read cookies, storage
// and other pages, and can't navigate them, open windows or send forms.
func (p Policy) Header() string {
	return "sandbox allow-scripts; default-src 'none'; " +
		directive("script-src 'unsafe-inline'", p.Load) + directive("style-src 'unsafe-inline'", p.Load) +
		directive("img-src data: blob:", p.Load) + directive("font-src data:", p.Load) + directive("media-src data: blob:", p.Load) +
		orNone("connect-src", p.Connect) + orNone("frame-src", p.Frame) + orNone("base-uri", p.Base) +
		"object-src 'none'; form-action 'none'; frame-ancestors 'self'"
}

// directive returns a directive with further sources.
func directive(own string, sources []string) string {
	return strings.Join(append([]string{own}, sources...), " ") + "; "
}

// orNone returns a directive with only these sources, or with none.
func orNone(name string, sources []string) string {
	if len(sources) == 0 {
		name += " 'none'"
	}
	return directive(name, sources)
}
