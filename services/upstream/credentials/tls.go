package credentials

import (
	"mcpgateway/models"
	"mcpgateway/services/egress"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// HasTLS reports whether a server has its own TLS settings.
func HasTLS(row *models.Server) bool {
	return row.TLSAuthority != "" || row.TLSCert != "" || row.TLSKey != ""
}

// TLS returns a function that returns the TLS settings of a server with the
// current targets of its references. It returns UPSTREAM_UNAUTHORIZED if one is not
// available, so that no request is sent without it.
func TLS(row models.Server, resolver Resolver, keyRow string) func() (egress.ServerTLS, error) {
	resolver = &secretCache{resolver: resolver}
	public := func(stored string) (string, error) {
		if _, ok := secrets.Reference(stored); !ok {
			return stored, nil
		}
		v, err := resolver.Resolve(stored, "")
		return v.Reveal(), err
	}
	return func() (s egress.ServerTLS, err error) {
		if s.Authorities, err = public(row.TLSAuthority); err != nil {
			return s, err
		}
		if s.Certificate, err = public(row.TLSCert); err != nil {
			return s, err
		}
		if s.Key, err = resolver.Resolve(row.TLSKey, keyRow); err != nil {
			return s, err
		}
		if s.Certificate != "" && s.Key.IsZero() {
			return s, missing(upstream.ReasonNoToken, "Server %s has a client certificate without its private key. Set tls.key.", row.Alias)
		}
		return s, nil
	}
}
