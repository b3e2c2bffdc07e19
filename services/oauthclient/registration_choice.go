package oauthclient

// Kind is how the gateway is known to an authorization server.
type Kind string

// The kinds of registration, in the order in which they are tried.
const (
	Held     Kind = "held"     // a dynamic registration from before, for the same issuer
	Document Kind = "document" // our client metadata document
	Dynamic  Kind = "dynamic"  // a new dynamic registration (RFC 7591)
	Static   Kind = "static"   // what an administrator entered
	None     Kind = "none"
)

// Options are the registrations that could be used at an issuer.
type Options struct {
	Held bool // one is stored for this issuer and redirect URI, and its secret has not expired

	DocumentsTaken   bool   // the issuer takes client metadata documents
	DocumentEligible bool   // ours is public, under a stable https URL
	DocumentWhyNot   string // why ours is not eligible

	Registers bool // the issuer has a registration endpoint
	StaticID  bool // an administrator entered a client id
}

// Choice is the registration to use and why none before it was.
type Choice struct {
	Kind    Kind
	Reasons []string
}

// Choose returns which registration to use, in the order of the specification
// ("Upstream authentication"): one that is held for the issuer, our client
// metadata document, dynamic registration, the static client.
func Choose(o Options) Choice {
	var why []string
	if o.Held {
		return Choice{Held, []string{"a registration at this issuer is held already"}}
	}
	why = append(why, "no registration at this issuer is held")
	switch {
	case o.DocumentsTaken && o.DocumentEligible:
		return Choice{Document, append(why, "the issuer takes client metadata documents, and ours is eligible")}
	case o.DocumentsTaken:
		why = append(why, "our client metadata document is not eligible: "+o.DocumentWhyNot)
	default:
		why = append(why, "the issuer does not take client metadata documents")
	}
	if o.Registers {
		return Choice{Dynamic, append(why, "the issuer registers clients dynamically")}
	}
	why = append(why, "the issuer does not register clients dynamically")
	if o.StaticID {
		return Choice{Static, append(why, "a static client was entered")}
	}
	return Choice{None, append(why, "no static client was entered")}
}
