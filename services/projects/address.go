package projects

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// QueryRow identifies a sealed query value in a server's URL. The value is
// bound to it.
func QueryRow(serverID, name string) string { return "servers/" + serverID + "/query/" + name }

// queryValue is one part of a query. Its texts are escaped as in the URL. A
// part without an equals sign is a value without a name.
type queryValue struct {
	name  string
	named bool
	value string
}

// splitQuery splits a URL before its query. found is false if it has none.
func splitQuery(address string) (base string, values []queryValue, found bool) {
	base, query, found := strings.Cut(address, "?")
	if !found {
		return base, nil, false
	}
	for part := range strings.SplitSeq(query, "&") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "", part
		}
		values = append(values, queryValue{name: name, named: named, value: value})
	}
	return base, values, true
}

func joinQuery(base string, values []queryValue) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = v.value
		if v.named {
			parts[i] = v.name + "=" + v.value
		}
	}
	return base + "?" + strings.Join(parts, "&")
}

// entered returns the unescaped value, or the value itself if its escapes are
// invalid.
func (v queryValue) entered() string {
	if plain, err := url.QueryUnescape(v.value); err == nil {
		return plain
	}
	return v.value
}

// isSecret reports whether the value must be sealed. Empty values, references
// and the placeholder of a sealed value must not.
func (v queryValue) isSecret() bool {
	plain := v.entered()
	return plain != "" && plain != secrets.Placeholder && !isReference(plain)
}

// MaskURL replaces the literal query values of a URL with the placeholder.
// References to the environment stay.
func MaskURL(address string) string {
	base, values, found := splitQuery(address)
	if !found {
		return address
	}
	for i := range values {
		if values[i].isSecret() {
			values[i].value = secrets.Placeholder
		}
	}
	return joinQuery(base, values)
}

// UnmaskURL replaces the placeholders of a URL with the query values of
// another, by name and order. A placeholder without a value stays.
func UnmaskURL(masked, from string) string {
	base, values, found := splitQuery(masked)
	if !found {
		return masked
	}
	_, known, _ := splitQuery(from)
	for i, v := range values {
		if v.entered() != secrets.Placeholder {
			continue
		}
		if at := slices.IndexFunc(known, func(k queryValue) bool { return k.name == v.name && k.isSecret() }); at >= 0 {
			values[i].value = known[at].value
			known = slices.Delete(known, at, at+1)
		}
	}
	return joinQuery(base, values)
}

// hasQueryValues reports whether the query of a URL has values, which count as
// credentials.
func hasQueryValues(address string) bool {
	_, values, _ := splitQuery(address)
	return slices.ContainsFunc(values, func(v queryValue) bool { return v.value != "" })
}

// storedValues returns the sealed query values of a server by name, in order.
func storedValues(row *models.Server) map[string][]string {
	stored := map[string][]string{}
	_, values, _ := splitQuery(row.URL)
	at := 0
	for _, v := range values {
		if v.entered() == secrets.Placeholder && at < len(row.URLSecrets) {
			stored[v.name] = append(stored[v.name], row.URLSecrets[at])
			at++
		}
	}
	return stored
}

// storedReferences returns the references in the query of a server's URL by name.
func storedReferences(row *models.Server) map[string][]string {
	stored := map[string][]string{}
	_, values, _ := splitQuery(row.URL)
	for _, v := range values {
		if plain := v.entered(); isReference(plain) {
			stored[v.name] = append(stored[v.name], plain)
		}
	}
	return stored
}

// setURL stores a declared URL and seals its query values. Unchanged values
// keep their sealed text, and the placeholder means the stored value.
func (s *Store) setURL(m *merge, row *models.Server, declared string) {
	base, values, found := splitQuery(declared)
	if !found {
		base = declared
	}
	stored, known := storedValues(row), storedReferences(row)
	if m.moved {
		known = nil
	}
	var sealed models.StringList
	for i := range values {
		v := &values[i]
		plain := v.entered()
		if plain == "" {
			continue
		}
		if isReference(plain) {
			if _, err := s.secrets.Store(plain, QueryRow(row.ID, v.name)); err != nil {
				m.problems["url"] = fault.From(err).Message
			}
			if why := m.may.refuses(plain); why != "" && !slices.Contains(known[v.name], plain) {
				m.problems["url"] = why
			}
			v.value = strings.ReplaceAll(plain, " ", "%20")
			continue
		}
		old := ""
		if left := stored[v.name]; len(left) > 0 {
			old, stored[v.name] = left[0], left[1:]
		}
		text := &v.value
		if plain == secrets.Placeholder {
			text = &plain
		}
		one := merge{problems: m.problems, may: m.may}
		s.setSecret(&one, "url", &old, text, QueryRow(row.ID, v.name))
		if len(one.missing) > 0 {
			m.missing = append(m.missing, "url?"+v.name)
		}
		v.value, sealed = secrets.Placeholder, append(sealed, old)
	}
	next := base
	if found {
		next = joinQuery(base, values)
	}
	if len(next) > declaration.MaxURL {
		m.problems["url"] = fmt.Sprintf("with %s in place of its query values, the URL exceeds %d characters", secrets.Placeholder, declaration.MaxURL)
	}
	if next != row.URL || !slices.Equal(sealed, row.URLSecrets) {
		row.URL, row.URLSecrets = next, sealed
		m.changed = append(m.changed, "url")
	}
}

// Address returns the URL of a server with its query values decrypted. It
// returns the faults of the resolver, and UPSTREAM_UNAUTHORIZED for a missing
// value.
func Address(row models.Server, resolve func(stored, row string) (secrets.Value, error)) (string, error) {
	base, values, found := splitQuery(row.URL)
	if !found {
		return row.URL, nil
	}
	at := 0
	for i, v := range values {
		switch plain := v.entered(); {
		case isReference(plain):
			value, err := resolve(plain, QueryRow(row.ID, v.name))
			if err != nil {
				return "", err
			}
			values[i].value = url.QueryEscape(value.Reveal())
		case plain == secrets.Placeholder:
			var value secrets.Value
			var err error
			if at < len(row.URLSecrets) {
				value, err = resolve(row.URLSecrets[at], QueryRow(row.ID, v.name))
				at++
			}
			if err != nil {
				return "", err
			}
			if value.IsZero() {
				return "", fault.Upstream(fault.CodeUpstreamUnauthorized, "Server %s has no value for %s in the query of its URL. Set one.", row.Alias, v.name)
			}
			values[i].value = value.Reveal()
		}
	}
	return joinQuery(base, values), nil
}

// SealAddresses seals the query values of URLs that earlier versions stored in
// cleartext, and masks the copies in connections.
func (s *Store) SealAddresses(ctx context.Context) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var rows []models.Server
		if err := tx.Find(&rows, "url LIKE ?", "%?%").Error; err != nil {
			return err
		}
		if !slices.ContainsFunc(rows, func(row models.Server) bool { return MaskURL(row.URL) != row.URL }) {
			return nil
		}
		if err := lockWrites(tx); err != nil {
			return err
		}
		if err := tx.Clauses(models.LockRow(tx)...).Find(&rows, "url LIKE ?", "%?%").Error; err != nil {
			return err
		}
		for _, row := range rows {
			if MaskURL(row.URL) == row.URL {
				continue
			}
			if err := s.sealAddress(tx, &row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// sealAddress seals the query values of one server. A reference to a variable
// that is not permitted stays, and calls report it.
func (s *Store) sealAddress(tx *gorm.DB, row *models.Server) error {
	plain := row.URL
	base, values, _ := splitQuery(plain)
	for i := range values {
		if values[i].isSecret() {
			values[i].value = strings.ReplaceAll(values[i].value, "${", "%24{") // a literal here, not a reference
		}
	}
	m := &merge{problems: map[string]string{}}
	s.setURL(m, row, joinQuery(base, values))
	if MaskURL(row.URL) != row.URL {
		return fault.Validation(m.problems)
	}
	for _, copied := range []any{&models.Connection{}, &models.ConnectionFlow{}} {
		if err := tx.Model(copied).Where("server_id = ? AND server_url = ?", row.ID, plain).UpdateColumn("server_url", row.URL).Error; err != nil {
			return err
		}
	}
	return tx.Model(row).Select("url", "url_secrets").UpdateColumns(row).Error
}

// ResealQuery returns the query values of a server sealed with the active key
// of the ring, and the number of values that another key had sealed.
func ResealQuery(row models.Server, ring *secrets.KeyRing) (sealed models.StringList, changed int, err error) {
	_, values, _ := splitQuery(row.URL)
	sealed = slices.Clone(row.URLSecrets)
	at := 0
	for _, v := range values {
		if v.entered() != secrets.Placeholder || at == len(sealed) {
			continue
		}
		if ring.NeedsReseal(sealed[at]) {
			if sealed[at], err = ring.Reseal(sealed[at], QueryRow(row.ID, v.name)); err != nil {
				return nil, 0, err
			}
			changed++
		}
		at++
	}
	return sealed, changed, nil
}
