package projects

import (
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/outbound"
)

// TLSKeyRow identifies the sealed private key of a server's client certificate.
func TLSKeyRow(serverID string) string { return "servers/" + serverID + "/tls_key" }

// mergeTLS applies the declared TLS settings and checks them if they or the URL
// changed.
func (s *Store) mergeTLS(m *merge, row *models.Server, d *declaration.Server) {
	before := len(m.changed)
	s.setPublic(m, "tls.ca", &row.TLSAuthority, d.TLSAuthority, outbound.AuthoritiesProblem)
	s.setPublic(m, "tls.cert", &row.TLSCert, d.TLSCert, outbound.AuthoritiesProblem)
	s.setChecked(m, "tls.key", &row.TLSKey, d.TLSKey, TLSKeyRow(row.ID), func(string) string { return "" })
	changed := len(m.changed) > before
	if row.TLSCert != "" && row.TLSKey == "" && !slices.Contains(m.missing, "tls.key") {
		m.missing = append(m.missing, "tls.key")
	}
	switch {
	case row.TLSKey != "" && row.TLSCert == "":
		m.problems["tls.cert"] = "required with tls.key"
	case changed && row.TLSCert != "" && row.TLSKey != "":
		s.checkPair(m, row)
	}
	switch needed := outbound.NeedsHTTPS(row); {
	case needed && changed:
		m.problems[outbound.TLSField(row)] = "only with an https URL"
	case needed && m.problems["url"] == "":
		m.problems["url"] = "the server has certificates (tls), which require https: remove them first"
	}
}

// setPublic stores a declared text that is not secret, or a reference. "" clears
// it. The target of a reference is checked if it is available.
func (s *Store) setPublic(m *merge, field string, stored, declared *string, check func(string) string) {
	if declared == nil || *declared == *stored {
		return
	}
	if why := m.may.refuses(*declared); why != "" {
		m.problems[field] = why
		return
	}
	if strings.Contains(*declared, "${") {
		if _, err := s.secrets.Store(*declared, field); err != nil {
			m.problems[field] = fault.From(err).Message
			return
		}
	}
	if why := s.checkPEM(field, check)(*declared); why != "" {
		m.problems[field] = why
		return
	}
	*stored = *declared
	m.changed = append(m.changed, field)
}

// checkPair checks a client certificate and its private key if both are available.
func (s *Store) checkPair(m *merge, row *models.Server) {
	certificate := row.TLSCert
	if isReference(certificate) {
		v, err := s.secrets.Resolve(certificate, "")
		if err != nil {
			return
		}
		certificate = v.Reveal()
	}
	key, err := s.secrets.Resolve(row.TLSKey, TLSKeyRow(row.ID))
	if err != nil {
		return
	}
	if why := outbound.PairProblem(certificate, key.Reveal()); why != "" && m.problems["tls.cert"] == "" {
		m.problems["tls.key"] = why
	}
}

// tlsFile returns the exported TLS settings of a server, or nil. A missing key is
// shown as such.
func tlsFile(server models.Server) *exportTLS {
	if outbound.TLSField(&server) == "" {
		return nil
	}
	file := &exportTLS{CA: server.TLSAuthority, Cert: server.TLSCert, Key: secretShown(server.TLSKey)}
	if server.TLSCert != "" {
		file.Key = shown(server.TLSKey)
	}
	return file
}
