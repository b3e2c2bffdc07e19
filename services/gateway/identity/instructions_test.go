package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpgateway/models"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/gateway/identity"
	"mcpgateway/services/toolset"
)

const bound = 16 << 10

// instructions returns the instructions of a project with its own, and with
// those of servers a, b, c and so on.
func instructions(own string, servers ...string) string {
	src := toolset.Source{Project: models.Project{ID: "p", Instructions: own}, Inventories: map[string]*models.Inventory{}}
	for i, text := range servers {
		alias := fmt.Sprintf("%c%02d", 'a'+i%26, i)
		src.Servers = append(src.Servers, models.Server{ID: alias, Alias: alias, Enabled: true})
		src.Inventories[alias] = &models.Inventory{ServerID: alias, Instructions: text}
	}
	return identity.Instructions(gatewaytest.Build(src))
}

func TestInstructionsOfProjectFirst(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"none", instructions(""), ""},
		{"project", instructions("Be kind."), "Be kind."},
		{"servers", instructions("", "say a", "", "say c"), "## a00\n\nsay a\n\n## c02\n\nsay c\n"},
		{"both", instructions("Be kind.", "say a"), "Be kind.\n\n## a00\n\nsay a\n"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// TestInstructionsCutEvenly has instructions around the limit of 16 KiB.
func TestInstructionsCutEvenly(t *testing.T) {
	const around = len("## a00\n\n\n") // heading and end
	for _, tt := range []struct {
		n   int // bytes of the only server
		cut bool
	}{{bound - around - 1, false}, {bound - around, false}, {bound - around + 1, true}, {10 * bound, true}} {
		got := instructions("", strings.Repeat("x", tt.n))
		if strings.HasSuffix(got, "x[…]\n") != tt.cut || len(got) > bound || tt.cut && len(got) != bound {
			t.Errorf("%d bytes: got %d, cut %v", tt.n, len(got), !tt.cut)
		}
	}
	own := strings.Repeat("p", 8<<10)
	got := instructions(own, strings.Repeat("a", 9000), "short", strings.Repeat("c", 6000), strings.Repeat("d", 100))
	if len(got) > bound || len(got) < bound-2 || !strings.HasPrefix(got, own+"\n\n## a00\n\naaa") || !strings.Contains(got, "\n\n## b01\n\nshort\n\n## c02\n\nccc") || !strings.HasSuffix(got, "\n## d03\n\n"+strings.Repeat("d", 100)+"\n") {
		t.Errorf("got %d bytes: %.40q … %q", len(got), got, got[len(got)-200:])
	}
	// 8,192 bytes are left; the long ones have the same size.
	if a, c := strings.Count(got[len(own):], "a"), strings.Count(got, "c"); a-c > 2 || c-a > 2 || !strings.Contains(got, "c[…]\n") || !strings.Contains(got, "a[…]\n") {
		t.Errorf("cut to %d and %d", a, c)
	}
}

func TestInstructionsCutAtRunes(t *testing.T) {
	for shift := range 4 {
		got := instructions(strings.Repeat("p", shift), strings.Repeat("🛠", bound), strings.Repeat("é", bound))
		if !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) || len(got) > bound || len(got) < bound-8 || strings.Count(got, "[…]\n") != 2 {
			t.Errorf("shift %d: %d bytes, valid %v", shift, len(got), utf8.ValidString(got))
		}
	}
}

// TestInstructionsOfManyServers has more servers than the limit has room for.
func TestInstructionsOfManyServers(t *testing.T) {
	all := make([]string, 200)
	for i := range all {
		all[i] = strings.Repeat("x", 1000)
	}
	got := instructions("", all...)
	if n := strings.Count(got, "[…]\n"); len(got) > bound || n != strings.Count(got, "## ") || n < 120 || n > 128 {
		t.Errorf("%d servers in %d bytes", n, len(got))
	}
	for i := range all {
		all[i] = "x"
	}
	if n := strings.Count(instructions(strings.Repeat("p", 8<<10), all...), "## "); n != 200 {
		t.Errorf("%d short instructions, want 200", n)
	}
}
