package oauthclient

// Kind is a kind of client registration at an authorization server.
type Kind string

// The kinds of registration, in order of preference.
const (
	Held     Kind = "held"     // an existing dynamic registration at the issuer
	Document Kind = "document" // the client metadata document
	Dynamic  Kind = "dynamic"  // a new dynamic registration (RFC 7591)
	Static   Kind = "static"   // entered by an administrator
	None     Kind = "none"
)

// Options holds the registrations available at an issuer.
type Options struct {
	Held bool // stored for the issuer and redirect URI, with an unexpired secret

	DocumentsTaken   bool   // the issuer supports client metadata documents
	DocumentEligible bool   // the document is public, under a stable https URL
	DocumentWhyNot   string // reason the document is not eligible

	Registers bool // the issuer has a registration endpoint
	StaticID  bool // an administrator entered a client ID
}

// Choice is the selected registration, with the reasons against the preferred
// ones.
type Choice struct {
	Kind    Kind
	Reasons []string
}

// Choose returns the registration to use, in the order of the specification
// ("Upstream authentication"): an existing registration, the client metadata
// document, dynamic registration, the static client.
func Choose(o Options) Choice {
	var why []string
	if o.Held {
		return Choice{Held, []string{"a registration at this issuer exists"}}
	}
	why = append(why, "no registration at this issuer exists")
	switch {
	case o.DocumentsTaken && o.DocumentEligible:
		return Choice{Document, append(why, "the issuer supports client metadata documents, and the gateway's is eligible")}
	case o.DocumentsTaken:
		why = append(why, "the gateway's client metadata document is not eligible: "+o.DocumentWhyNot)
	default:
		why = append(why, "the issuer doesn't support client metadata documents")
	}
	if o.Registers {
		return Choice{Dynamic, append(why, "the issuer supports dynamic registration")}
	}
	why = append(why, "the issuer doesn't support dynamic registration")
	if o.StaticID {
		return Choice{Static, append(why, "a static client was entered")}
	}
	return Choice{None, append(why, "no static client was entered")}
}
