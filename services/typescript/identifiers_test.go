package typescript_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mcpgateway/services/typescript"
)

func TestIdentifierExamples(t *testing.T) {
	for alias, want := range map[string]string{
		"github": "github", "my_server": "my_server", "my-server": "my$_server", "3d-tools": "$n3d$_tools", "123": "$n123",
		"github.com/x": "github$ocom$sx", "größe": "gr$uf6$$udf$e", "日本": "$u65e5$$u672c$", "😀": "$u1f600$",
		"class": "class$", "await": "await$", "console": "console$", "fetch": "fetch$", "globalThis": "globalThis$",
		"__proto__": "__proto__$", "constructor": "constructor$", "then": "then$", "gateway": "gateway$",
		"class$": "class$u24$", "$class": "$u24$class", "my$_server": "my$u24$_server", "$n3d": "$u24$n3d", "": "$", "-": "$_",
		"a b": "a$u20$b", "$": "$u24$", "__x": "__x$", "x__y": "x__y", "memory": "memory", "time": "time", "filesystem": "filesystem",
		"é": "$ue9$", "e\u0301": "e$u301$", "_": "_", "A1": "A1", "Map": "Map$", "Classes": "Classes", "a-b": "a$_b", "a_b": "a_b", "a.b": "a$ob",
	} {
		if got := typescript.Identifier(alias); got != want {
			t.Errorf("Identifier(%q) = %s, want %s", alias, got, want)
		}
	}
}

// readIdentifier decodes the alias from its identifier.
func readIdentifier(s string) (string, bool) {
	s = strings.TrimPrefix(s, "$n")
	var b strings.Builder
	for s != "" {
		if s[0] != '$' {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		switch rest := s[1:]; {
		case rest == "":
			s = ""
		case rest[0] == '_':
			b.WriteByte('-')
			s = rest[1:]
		case rest[0] == 'o':
			b.WriteByte('.')
			s = rest[1:]
		case rest[0] == 's':
			b.WriteByte('/')
			s = rest[1:]
		case rest[0] == 'u':
			digits, after, ok := strings.Cut(rest[1:], "$")
			r, err := strconv.ParseInt(digits, 16, 32)
			if !ok || err != nil {
				return "", false
			}
			b.WriteRune(rune(r))
			s = after
		default:
			return "", false
		}
	}
	return b.String(), true
}

func checkIdentifier(t interface {
	Helper()
	Fatalf(string, ...any)
}, alias string) string {
	t.Helper()
	ident := typescript.Identifier(alias)
	if back, ok := readIdentifier(ident); !ok || back != alias {
		t.Fatalf("Identifier(%q) = %s, which decodes to %q", alias, ident, back)
	}
	if ident == "" || ident[0] >= '0' && ident[0] <= '9' || strings.Trim(ident, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$") != "" {
		t.Fatalf("Identifier(%q) = %q, not an identifier", alias, ident)
	}
	return ident
}

func TestIdentifierRoundTrip(t *testing.T) {
	letters := []rune("a1_-./$ uons2f\u00e9\u0301😀")
	alias := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom(letters), 0, 12, -1),
		rapid.SampledFrom([]string{"class", "await", "class$", "$class", "__proto__", "then", "input", "Promise", "x$"}),
		rapid.String().Filter(utf8.ValidString),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := alias.Draw(t, "a"), alias.Draw(t, "b")
		if x, y := checkIdentifier(t, a), checkIdentifier(t, b); (x == y) != (a == b) {
			t.Fatalf("Identifier(%q) and Identifier(%q) = %s and %s", a, b, x, y)
		}
	})
}

func TestShortAliasesHaveUniqueIdentifiers(t *testing.T) {
	const letters = "a1_-./$uns f"
	seen := map[string]string{}
	var walk func(prefix string, left int)
	walk = func(prefix string, left int) {
		ident := checkIdentifier(t, prefix)
		if other, taken := seen[ident]; taken {
			t.Fatalf("%q and %q share the identifier %s", prefix, other, ident)
		}
		seen[ident] = prefix
		if left == 0 {
			return
		}
		for _, c := range letters {
			walk(prefix+string(c), left-1)
		}
	}
	walk("", 4)
	for _, word := range []string{"class", "do", "NaN", "string", "gateway", "input"} {
		for _, alias := range []string{word + "$", "$" + word, word + "-"} {
			if other, taken := seen[checkIdentifier(t, alias)]; taken {
				t.Errorf("%q and %q share an identifier", alias, other)
			}
		}
	}
}
