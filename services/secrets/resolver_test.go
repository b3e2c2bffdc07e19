package secrets_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func environment(allow ...string) *secrets.Environment {
	values := map[string]string{
		"MCP_UPSTREAM_TOKEN": canary, "GITHUB_TOKEN": "gh", "EMPTY_TOKEN": "", "DATABASE_URL": "postgres://secret",
		"GATEWAY_ADMIN_TOKEN": "admin", "gateway_admin_TOKEN": "admin", "A": "a",
	}
	return secrets.NewEnvironment(allow, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
}

func TestReference(t *testing.T) {
	cases := []struct {
		s, name string
		ok      bool
	}{
		{"${TOKEN}", "TOKEN", true},
		{"Bearer ${TOKEN}", "TOKEN", true},
		{"${_a1}", "_a1", true},
		{"${}", "", false},
		{"${1A}", "", false},
		{"${A-B}", "", false},
		{"${Ä}", "", false},
		{"${A} ", "", false},
		{" ${A}", "", false},
		{"x${A}", "", false},
		{"${A}${B}", "", false},
		{"${${A}}", "", false},
		{"bearer ${A}", "", false},
		{"Bearer  ${A}", "", false},
		{"Bearer Bearer ${A}", "", false},
		{"Token ${A}", "", false},
		{"$A", "", false},
		{"$}", "", false},
		{"${", "", false},
		{"${A", "", false},
		{"A}", "", false},
		{"", "", false},
		{"${file:/run/secrets/a}", "file:/run/secrets/a", true},
		{"Bearer ${file:/a.b-c_d e}", "file:/a.b-c_d e", true},
		{"${file:}", "file:", false},
		{"${file:a}", "file:a", false},
		{"${file:/a/../b}", "file:/a/../b", false},
		{"${file:/a/}", "file:/a/", false},
		{"${file://a}", "file://a", false},
		{"${file:/a&b}", "file:/a&b", false},
		{"x${file:/a}", "", false},
	}
	for _, c := range cases {
		if name, ok := secrets.Reference(c.s); name != c.name || ok != c.ok {
			t.Errorf("Reference(%q) = %q, %v", c.s, name, ok)
		}
	}
}

func TestEnvRefs(t *testing.T) {
	defaults := environment("MCP_UPSTREAM_*", "*_TOKEN", "*_API_KEY")
	everything := environment("*")
	cases := []struct {
		name    string
		env     *secrets.Environment
		s       string
		saved   bool
		want    string // result of Resolve; empty on error
		mention string // text in the errors
	}{
		{"allowed and set", defaults, "${MCP_UPSTREAM_TOKEN}", true, canary, ""},
		{"with Bearer", defaults, "Bearer ${GITHUB_TOKEN}", true, "Bearer gh", ""},
		{"allowed, not set", defaults, "${NO_TOKEN}", true, "", "NO_TOKEN"},
		{"allowed, empty", defaults, "${EMPTY_TOKEN}", true, "", "EMPTY_TOKEN"},
		{"not allowed", defaults, "${DATABASE_URL}", false, "", "DATABASE_URL"},
		{"not allowed, with Bearer", defaults, "Bearer ${DATABASE_URL}", false, "", "GATEWAY_ENV_ALLOW"},
		{"gateway setting matching a glob", defaults, "${GATEWAY_ADMIN_TOKEN}", false, "", "GATEWAY_ADMIN_TOKEN"},
		{"gateway setting with everything allowed", everything, "${GATEWAY_ADMIN_TOKEN}", false, "", "GATEWAY_ADMIN_TOKEN"},
		{"gateway setting in lower case", everything, "${gateway_admin_TOKEN}", false, "", "gateway_admin_TOKEN"},
		{"everything allowed", everything, "${DATABASE_URL}", true, "postgres://secret", ""},
		{"nothing allowed", environment(), "${MCP_UPSTREAM_TOKEN}", false, "", "MCP_UPSTREAM_TOKEN"},
		{"other case than the glob", defaults, "${github_token}", false, "", "github_token"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.env.Check(c.s)
			if c.saved != (err == nil) || (err != nil && !fault.Is(err, fault.CodeValidationFailed)) {
				t.Errorf("Check: %v", err)
			}
			v, resolved := c.env.Resolve(c.s)
			if v.Reveal() != c.want {
				t.Errorf("Resolve = %q, want %q", v.Reveal(), c.want)
			}
			if c.want != "" && resolved != nil || c.want == "" && !fault.Is(resolved, fault.CodeUpstreamUnauthorized) {
				t.Errorf("Resolve: %v", resolved)
			}
			for _, err := range []error{err, resolved} {
				if err != nil && !strings.Contains(err.Error(), c.mention) {
					t.Errorf("error doesn't contain %s: %v", c.mention, err)
				}
			}
		})
	}
}

func TestCheckPlainValues(t *testing.T) {
	env := environment("*")
	for s, ok := range map[string]bool{
		"": true, "plain": true, "$HOME": true, "a}b": true, "{x}": true,
		"x${A}": false, "${A": false, "${}": false, "bearer ${A}": false, "${A-B}": false,
	} {
		if err := env.Check(s); ok != (err == nil) || (err != nil && !fault.Is(err, fault.CodeValidationFailed)) {
			t.Errorf("Check(%q): %v", s, err)
		}
		if v, err := env.Resolve(s); err == nil || !v.IsZero() {
			t.Errorf("Resolve(%q) = %q", s, v.Reveal())
		}
	}
}

func TestNameGlobs(t *testing.T) {
	cases := []struct {
		glob, name string
		want       bool
	}{
		{"A", "A", true}, {"A", "AB", false}, {"A", "B", false}, {"", "A", false},
		{"*", "A", true}, {"**", "A", true}, {"?", "A", true}, {"??", "A", false}, {"?*", "A", true},
		{"A*", "A", true}, {"A*", "ABC", true}, {"*C", "ABC", true}, {"*C", "ABCD", false},
		{"A*C", "ABBC", true}, {"A*C*E", "ABCDE", true}, {"A*C*E", "ABCDF", false}, {"A?C", "ABC", true}, {"A?C", "AC", false},
		{"*AB*AB", "ABXABYAB", true}, {"[A]", "A", false}, {"a", "A", false},
		{strings.Repeat("*A", 200), strings.Repeat("A", 199), false},
	}
	for _, c := range cases {
		env := secrets.NewEnvironment([]string{c.glob}, func(string) (string, bool) { return "x", true })
		if got := env.Check("${"+c.name+"}") == nil; got != c.want {
			t.Errorf("%q matches %q: %v", c.glob, c.name, got)
		}
	}
}

func TestStoreAndResolve(t *testing.T) {
	r := secrets.NewResolver(ring(t, "a:"+key(1, 32)), environment("*_TOKEN"))
	look, err := ring(t, "a:"+key(1, 32)).Seal(secrets.NewValue("inner"), "row")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, entered string
		sealed        bool
		want          string
	}{
		{"nothing", "", false, ""},
		{"literal", "s3cret", true, "s3cret"},
		{"reference", "${GITHUB_TOKEN}", false, "gh"},
		{"reference with Bearer", "Bearer ${GITHUB_TOKEN}", false, "Bearer gh"},
		{"literal that looks sealed", look, true, look},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stored, err := r.Store(c.entered, "row")
			if err != nil {
				t.Fatal(err)
			}
			if secrets.Sealed(stored) != c.sealed || (c.sealed && stored == c.entered) || (!c.sealed && stored != c.entered) {
				t.Errorf("Store() = %q", stored)
			}
			if v, err := r.Resolve(stored, "row"); err != nil || v.Reveal() != c.want {
				t.Errorf("Resolve() = %q, %v, want %q", v.Reveal(), err, c.want)
			}
			if _, err := r.Resolve(stored, "another row"); c.sealed && err == nil {
				t.Error("Resolve() for another row succeeded")
			}
		})
	}
	if stored, err := r.Store("${DATABASE_URL}", "row"); !fault.Is(err, fault.CodeValidationFailed) || stored != "" {
		t.Errorf("Store() of a name that isn't allowed = %q, %v", stored, err)
	}
	if _, err := r.Store("s3cret", ""); err == nil {
		t.Error("Store() without a row succeeded")
	}
	if v, err := r.Resolve("plain text", "row"); !fault.Is(err, fault.CodeInternal) || !v.IsZero() {
		t.Errorf("Resolve() of a cleartext column = %q, %v", v.Reveal(), err)
	} else if strings.Contains(err.Error(), "plain text") {
		t.Errorf("error contains the column: %v", err)
	}
	if _, err := r.Resolve("${NO_TOKEN}", "row"); !fault.Is(err, fault.CodeUpstreamUnauthorized) {
		t.Errorf("missing variable: %v", err)
	}
}

func TestStoreNeverKeepsCleartext(t *testing.T) {
	r := secrets.NewResolver(ring(t, "a:"+key(1, 32)), environment("*"))
	rapid.Check(t, func(t *rapid.T) {
		entered := rapid.OneOf(rapid.String(), rapid.StringMatching(`(Bearer )?\$\{[A-Z_]{0,4}\}?`)).Draw(t, "entered")
		stored, err := r.Store(entered, "row")
		if err != nil {
			return
		}
		if _, ok := secrets.Reference(entered); entered == "" || ok {
			if stored != entered {
				t.Fatalf("Store(%q) = %q", entered, stored)
			}
			return
		}
		v, err := r.Resolve(stored, "row")
		if err != nil || v.Reveal() != entered || !secrets.Sealed(stored) {
			t.Fatalf("Store(%q) = %q, Resolve() = %q, %v", entered, stored, v.Reveal(), err)
		}
	})
}
