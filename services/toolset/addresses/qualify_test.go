package addresses_test

import (
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/toolset/addresses"
)

func TestQualify(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"ui://w/v.html", "ui://+crm/w/v.html"},
		{"skill://refunds/SKILL.md", "skill://+crm/refunds/SKILL.md"},
		{"file:///doc/{x}", "file://+crm+/doc/{x}"},
		{"memo:insights", "memo://+crm~/insights"},
		{"memo:/a", "memo://+crm~//a"},
		{"https://x/p", "https://+crm/x/p"},
		{"https://x:80?q=1#f", "https://+crm/x:80?q=1#f"},
		{"x://", "x://+crm+"},
		{"x://?q", "x://+crm+?q"},
		{"x://{+path}", "x://+crm/{+path}"},
		{"x://+crm/a", "x://+crm/+crm/a"},
	} {
		got, ok := addresses.Qualify("Crm", tt.text)
		if !ok || got != tt.want {
			t.Errorf("Qualify(%q) = %q %v, want %q", tt.text, got, ok, tt.want)
		}
		if alias, text, ok := addresses.Decode(got); !ok || alias != "crm" || text != tt.text {
			t.Errorf("Decode(%q) = %q %q %v", got, alias, text, ok)
		}
	}
	for _, text := range []string{"", "a", "{+path}", "{scheme}://x", "1x:a", ":a", "a b:c"} {
		if got, ok := addresses.Qualify("crm", text); ok {
			t.Errorf("Qualify(%q) = %q", text, got)
		}
	}
}

func TestDecodeForms(t *testing.T) {
	for _, tt := range []struct{ address, alias, text string }{
		{"ui://+CRM/w", "crm", "ui://w"},
		{"ui://%2Bcrm/w", "crm", "ui://w"},
		{"ui://%2bcrm/w", "crm", "ui://w"},
		{"file://%2BCrm%2B/doc", "crm", "file:///doc"},
		{"x://+a.b-c_d/w", "a.b-c_d", "x://w"},
	} {
		if alias, text, ok := addresses.Decode(tt.address); !ok || alias != tt.alias || text != tt.text {
			t.Errorf("Decode(%q) = %q %q %v", tt.address, alias, text, ok)
		}
	}
	for _, address := range []string{"", "ui://crm/w", "ui:+crm/w", "ui://+/w", "ui://+crm", "ui://+crm~w", "ui://+crm?x", "ui://+c rm/w", "ui://%2Acrm/w", "ui:///+crm/w"} {
		if alias, text, ok := addresses.Decode(address); ok {
			t.Errorf("Decode(%q) = %q %q", address, alias, text)
		}
	}
}

// FuzzAddress checks that an address decodes to the text that it was made of,
// that no text belongs to two servers, and that net/url keeps the form.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"ui://w/v.html", "file:///doc/{x}", "memo:insights", "https://x/p?q#f", "x://+a/b", "x://+b+/c", "x://+a~/b", "memo://", "a:"} {
		f.Add(text, "x://y", "crm", "Mail.2")
	}
	f.Fuzz(func(t *testing.T, text, other, alias, second string) {
		if !validAlias(alias) || !validAlias(second) || strings.EqualFold(alias, second) {
			t.Skip()
		}
		address, ok := addresses.Qualify(alias, text)
		if !ok {
			t.Skip()
		}
		owner, own, ok := addresses.Decode(address)
		if !ok || owner != addresses.Fold(alias) || own != text {
			t.Fatalf("Decode(%q) = %q %q %v", address, owner, own, ok)
		}
		if another, ok := addresses.Qualify(second, other); ok && another == address {
			t.Fatalf("%q of %s and %q of %s are both %q", text, alias, other, second, address)
		}
		if u, err := url.Parse(text); err == nil && u.String() == text && isPlain(text) {
			if u, err := url.Parse(address); err != nil || u.String() != address {
				t.Errorf("net/url makes %v of %q (%v)", u, address, err)
			}
		}
		oneServer(t, text, other, address, alias, second)
	})
}

// oneServer checks that what a project shows for a server is routed to it.
func oneServer(t *testing.T, text, other, address, alias, second string) {
	claim := func(alias string, kind models.ClaimKind, text string, position int64) models.AddressClaim {
		return models.AddressClaim{Alias: addresses.Fold(alias), Kind: kind, Text: text, Position: position}
	}
	claims := []models.AddressClaim{
		claim(alias, models.ClaimURI, text, 1), claim(second, models.ClaimURI, other, 2), claim(second, models.ClaimURI, text, 3),
		claim(second, models.ClaimURI, address, 4), claim(alias, models.ClaimPrefix, other, 5), claim(alias, models.ClaimURI, other, 6),
	}
	book := addresses.New(claims, nil)
	seen := map[string]string{}
	for _, c := range claims {
		if c.Kind != models.ClaimURI {
			continue
		}
		shown, ok := book.Listed(c.Alias, c.Kind, c.Text)
		if !ok {
			continue
		}
		if route := book.Route(shown); route.Alias != c.Alias || route.Text != c.Text {
			t.Fatalf("%q of %s is shown as %q and routed to %+v", c.Text, c.Alias, shown, route)
		}
		if before, ok := seen[shown]; ok && before != c.Alias {
			t.Fatalf("%q is shown for %s and %s", shown, before, c.Alias)
		}
		seen[shown] = c.Alias
	}
}

func validAlias(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", c) {
			return false
		}
	}
	return s != ""
}

// isPlain reports whether a text has only characters of URIs (RFC 3986) that are
// allowed in both a host and a path.
func isPlain(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#!$&'()*+,;=", c) {
			return false
		}
	}
	return true
}
