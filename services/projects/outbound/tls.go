package outbound

import (
	"net/url"

	"mcpgateway/models"
	"mcpgateway/services/certificates"
)

// AuthoritiesProblem returns the problem of the PEM text of certificate
// authorities, or "".
func AuthoritiesProblem(text string) string {
	if _, err := certificates.Authorities(text); err != nil {
		return "the certificates " + err.Error()
	}
	return ""
}

// PairProblem returns the problem of a client certificate and its private key, or
// "".
func PairProblem(certificate, key string) string {
	if _, err := certificates.Pair(certificate, key); err != nil {
		return "the pair of certificate and key " + err.Error()
	}
	return ""
}

// TLSField returns the first TLS field that a server has, or "".
func TLSField(row *models.Server) string {
	switch {
	case row.TLSAuthority != "":
		return "tls.ca"
	case row.TLSCert != "":
		return "tls.cert"
	case row.TLSKey != "":
		return "tls.key"
	}
	return ""
}

// NeedsHTTPS reports whether a server has TLS settings although its URL doesn't use
// https.
func NeedsHTTPS(row *models.Server) bool {
	u, err := url.Parse(row.URL)
	return TLSField(row) != "" && (err != nil || u.Scheme != "https")
}
