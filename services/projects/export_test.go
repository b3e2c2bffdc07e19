package projects_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"pgregory.net/rapid"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
)

// exported is a project's file with every kind of value.
const exported = `{
  "projects": {
    "demo": {
      "name": "Démo <b>&\u2028",
      "description": "two\nlines",
      "authMode": "api_key",
      "oauthAccess": "anyone",
      "codeMode": {
        "enabled": true,
        "timeout": 30000,
        "allowFetch": false
      },
      "mcpServers": {
        "everything": {
          "url": "https://up.example/mcp?a=${MCP_UPSTREAM_A}&b=",
          "transport": "streamable-http",
          "authType": "bearer",
          "authBearer": "${MCP_UPSTREAM_TOKEN}",
          "headers": {
            "X-Key": "Bearer ${MCP_UPSTREAM_KEY}"
          },
          "allowedTools": [
            "*"
          ],
          "denyTools": [
            "delete_*"
          ],
          "enabled": false,
          "timeout": 60000,
          "maxConcurrent": 512,
          "sessionMode": "per-client",
          "definitionPolicy": "approve",
          "oauth": {
            "clientId": "id",
            "clientSecret": "${MCP_UPSTREAM_SECRET}",
            "scopes": [
              "b",
              "a"
            ]
          }
        },
        "plain": {
          "url": "https://plain.example",
          "transport": "auto",
          "authType": "none",
          "headers": {},
          "allowedTools": [],
          "denyTools": [],
          "enabled": true,
          "timeout": 60000,
          "maxConcurrent": 512,
          "sessionMode": "shared",
          "definitionPolicy": "follow",
          "oauth": {
            "clientId": "",
            "scopes": []
          }
        }
      },
      "toolExposure": "builtin",
      "toolNameLimit": 64,
      "disabledTools": [
        "everything__a",
        "everything__b"
      ],
      "rateLimit": {
        "perSecond": 0.1,
        "burst": 7
      },
      "limits": [
        {
          "per": "key",
          "match": "everything__*",
          "perSecond": 2.5,
          "burst": 0,
          "perDay": 1000
        },
        {
          "per": "project",
          "match": "*",
          "perSecond": 0,
          "burst": 0,
          "perDay": 1000000000
        }
      ],
      "recordPayloads": true
    }
  }
}
`

func TestExportRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, exported)
		if d := cmp.Diff(exported, s.export(t, "")); d != "" {
			t.Errorf("export (-want +got):\n%s", d)
		}
		wantPlan(t, s.apply(t, s.export(t, ""), projects.ApplyOptions{Prune: true}), "keep demo", "keep demo/everything", "keep demo/plain")
	})
}

func TestExportMasksSecrets(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, inServer(`"authType":"bearer","authBearer":"literal","headers":{"X-Key":"literal","X-Ref":"${MCP_UPSTREAM_A}"},"oauth":{"clientSecret":"literal"}`))
		before := s.server(t, "p", "s")
		file := s.export(t, "")
		for _, absent := range []string{"literal", "v1:"} {
			if strings.Contains(file, absent) {
				t.Errorf("the export contains %q: %s", absent, file)
			}
		}
		for _, present := range []string{`"authBearer": "[secret]"`, `"X-Key": "[secret]"`, `"X-Ref": "${MCP_UPSTREAM_A}"`, `"clientSecret": "[secret]"`} {
			if !strings.Contains(file, present) {
				t.Errorf("the export lacks %s: %s", present, file)
			}
		}
		wantPlan(t, s.apply(t, file), "keep p", "keep p/s")
		if d := cmp.Diff(before, s.server(t, "p", "s")); d != "" {
			t.Errorf("after applying the export (-want +got):\n%s", d)
		}
	})
}

// TestAppliedExportWarnsOfMissingSecrets applies an export to an empty
// database. Every placeholder causes a warning until its secret is set.
func TestAppliedExportWarnsOfMissingSecrets(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, inServer(`"authType":"bearer","authBearer":"literal","headers":{"X-Key":"literal","X-Other":"literal","X-Ref":"${MCP_UPSTREAM_A}"},"oauth":{"clientId":"i","clientSecret":"literal"}`))
		file := s.export(t, "")
		s.apply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true})
		const at, then = "projects.p.mcpServers.s.", ": the secret is missing. Set it; without it, calls to server s fail."
		want := []string{at + "authBearer" + then, at + "headers.X-Key" + then, at + "headers.X-Other" + then, at + "oauth.clientSecret" + then}
		for _, action := range []string{"create", "keep"} {
			plan := s.apply(t, file)
			wantPlan(t, plan, action+" p", action+" p/s")
			if d := cmp.Diff(want, plan.Warnings); d != "" || len(plan.Missing) != len(want) {
				t.Errorf("%s: warnings (-want +got):\n%s", action, d)
			}
		}
		row := s.server(t, "p", "s")
		if d := cmp.Diff(models.StringMap{"X-Key": "", "X-Other": "", "X-Ref": "${MCP_UPSTREAM_A}"}, row.Headers); d != "" || row.AuthBearer != "" || row.OAuthClientSecret != "" {
			t.Errorf("stored %+v (-want +got headers):\n%s", row, d)
		}
		wantPlan(t, s.apply(t, inServer(`"headers":{"x-other":""}`)), "keep p", "update p/s headers.x-other")
		saved, err := s.UpdateServer(t.Context(), row.ID, nil, &declaration.Server{Headers: map[string]string{"X-Key": "[secret]"}})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]fault.Warning{
			{Code: projects.WarnSecretMissing, Message: "headers.X-Key" + then}, {Code: projects.WarnSecretMissing, Message: "authBearer" + then},
		}, saved.Warnings); d != "" {
			t.Errorf("warnings of an update (-want +got):\n%s", d)
		}
		if plan := s.apply(t, inServer(`"authBearer":"a","headers":{"X-Key":"b"},"oauth":{"clientSecret":"c"}`)); len(plan.Warnings) > 0 {
			t.Errorf("warnings with every secret set: %q", plan.Warnings)
		}
	})
}

func TestExportOfOneProject(t *testing.T) {
	s := sqliteStore(t)
	if got := s.export(t, ""); got != "{\n  \"projects\": {}\n}\n" {
		t.Errorf("empty export = %q", got)
	}
	s.apply(t, `{"projects":{"a":{},"b":{}}}`)
	if got := s.export(t, "a"); !strings.Contains(got, `"a"`) || strings.Contains(got, `"b"`) {
		t.Errorf("export = %s", got)
	}
	_, err := s.Export(t.Context(), "c")
	wantFault(t, err, fault.CodeNotFound)
}

func TestExportOfAppliedExportIsEqual(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		one, two := newStore(t, db), newStore(t, modelstest.Open(t, modelstest.SQLite(t)))
		prune := projects.ApplyOptions{Prune: true}
		runs := 0
		rapid.Check(t, func(rt *rapid.T) {
			file := drawDeclaration(rt)
			if runs++; db.Name() == "postgres" && runs%4 != 0 {
				return // a quarter of the runs keeps the test fast
			}
			one.apply(rt, file, prune)
			first := one.export(rt, "")
			for _, c := range one.apply(rt, first, prune).Changes {
				if c.Action != projects.ActionKeep {
					rt.Fatalf("applying the export changed %+v: %s", c, first)
				}
			}
			if d := cmp.Diff(first, one.export(rt, "")); d != "" {
				rt.Fatalf("same database (-want +got):\n%s", d)
			}
			two.apply(rt, `{"projects":{}}`, prune) // data of an earlier run would stay where the file has no value
			two.apply(rt, first, prune)
			if d := cmp.Diff(withoutMissing(first), withoutMissing(two.export(rt, ""))); d != "" {
				rt.Fatalf("other database (-want +got):\n%s", d)
			}
		})
	})
}

// withoutMissing returns a file without placeholders, which have no value in
// another database.
func withoutMissing(file string) string {
	return regexp.MustCompile(` *"(authBearer|clientSecret)": "\[secret\]",\n`).ReplaceAllString(file, "")
}

// drawDeclaration returns a valid declarative file.
func drawDeclaration(t *rapid.T) string {
	slug := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?`)
	all := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(slug, 0, 3, rapid.ID).Draw(t, "slugs") {
		all[name] = drawProject(t)
	}
	b, err := json.Marshal(map[string]any{"projects": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// maybe adds a drawn member or omits it.
func maybe[V any](t *rapid.T, o map[string]any, name string, g *rapid.Generator[V]) {
	if rapid.Bool().Draw(t, "with "+name) {
		o[name] = g.Draw(t, name)
	}
}

func text(max int) *rapid.Generator[string] {
	return rapid.StringN(0, max, -1).Filter(func(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) })
}

// listed generates valid lists of strings.
func listed() *rapid.Generator[[]string] {
	item := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9_.*?/-]{1,12}`), text(8).Filter(func(s string) bool { return s != "" }))
	return rapid.SliceOfN(item, 0, 4)
}

func drawProject(t *rapid.T) map[string]any {
	o := map[string]any{}
	maybe(t, o, "name", text(100))
	maybe(t, o, "description", text(200))
	maybe(t, o, "oauthAccess", rapid.SampledFrom([]string{"anyone", "members"}))
	maybe(t, o, "authMode", rapid.SampledFrom([]string{"none", "api_key", "oauth"}))
	maybe(t, o, "toolExposure", rapid.SampledFrom([]string{"full", "builtin"}))
	maybe(t, o, "toolNameLimit", rapid.OneOf(rapid.Just(0), rapid.IntRange(32, 256)))
	maybe(t, o, "disabledTools", listed())
	if rapid.Bool().Draw(t, "with codeMode") {
		mode := map[string]any{}
		maybe(t, mode, "enabled", rapid.Bool())
		maybe(t, mode, "timeout", rapid.IntRange(declaration.MinRunTimeoutMS, declaration.MaxRunTimeoutMS))
		maybe(t, mode, "allowFetch", rapid.Bool())
		o["codeMode"] = mode
	}
	if rapid.Bool().Draw(t, "with rateLimit") {
		limit := map[string]any{}
		maybe(t, limit, "perSecond", rapid.Float64Range(0, 1_000_000))
		maybe(t, limit, "burst", rapid.IntRange(0, 1_000_000))
		o["rateLimit"] = limit
	}
	if rapid.Bool().Draw(t, "with limits") {
		o["limits"] = drawLimits(t)
	}
	maybe(t, o, "recordPayloads", rapid.Bool())
	if rapid.Bool().Draw(t, "with retention") {
		kept := map[string]any{}
		maybe(t, kept, "calls", rapid.IntRange(1, declaration.MaxCallDays))
		maybe(t, kept, "payloads", rapid.IntRange(0, declaration.MaxPayloadDays))
		maybe(t, kept, "runs", rapid.IntRange(1, declaration.MaxRuns))
		o["retention"] = kept
	}
	maybe(t, o, "toolNames", rapid.SampledFrom([]string{"prefixed", "bare"}))
	maybe(t, o, "validateArguments", rapid.Bool())
	maybe(t, o, "resultLimit", rapid.Just(0)) // others need an authMode
	maybe(t, o, "instructions", text(200))
	maybe(t, o, "icon", rapid.SampledFrom([]string{"", "https://x.example/i?a=%20&b"}))
	maybe(t, o, "websiteUrl", rapid.SampledFrom([]string{"", "http://x.example/ü"}))
	maybe(t, o, "serverCard", rapid.Bool())
	alias := rapid.StringMatching(`[A-Za-z0-9]([A-Za-z0-9.-]{0,4}[A-Za-z0-9])?`).Filter(func(s string) bool { return !strings.EqualFold(s, "gateway") })
	servers := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(alias, 0, 3, strings.ToLower).Draw(t, "aliases") {
		servers[name] = drawServer(t)
	}
	o["mcpServers"] = servers
	return o
}

func drawLimits(t *rapid.T) []any {
	limits := []any{}
	for _, match := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z*?_<&"]{1,5}`), 0, 4, rapid.ID[string]).Draw(t, "matches") {
		limit := map[string]any{"match": match, "per": rapid.SampledFrom([]string{"key", "person", "toolset", "tool", "project"}).Draw(t, "per")}
		limit["perDay"] = rapid.IntRange(1, declaration.MaxPerDay).Draw(t, "perDay")
		if rapid.Bool().Draw(t, "with a rate") {
			limit["perSecond"] = rapid.Float64Range(0.001, declaration.MaxRatePerSecond).Draw(t, "perSecond")
			maybe(t, limit, "burst", rapid.IntRange(0, declaration.MaxRatePerSecond))
		}
		limits = append(limits, limit)
	}
	return limits
}

func drawServer(t *rapid.T) map[string]any {
	secret := rapid.SampledFrom([]string{"", "literal", "${MCP_UPSTREAM_A}", "Bearer ${B_TOKEN}", "v1:k:AAAA"})
	o := map[string]any{"url": "https://up.example/" + rapid.StringMatching(`[a-z?=&%é]{0,10}`).Draw(t, "url")}
	maybe(t, o, "transport", rapid.SampledFrom([]string{"auto", "streamable-http", "sse"}))
	maybe(t, o, "authType", rapid.SampledFrom([]string{"none", "bearer", "oauth"}))
	maybe(t, o, "authBearer", secret)
	maybe(t, o, "allowedTools", listed())
	maybe(t, o, "denyTools", listed())
	maybe(t, o, "enabled", rapid.Bool())
	maybe(t, o, "timeout", rapid.IntRange(100, 600_000))
	maybe(t, o, "maxConcurrent", rapid.IntRange(1, 4096))
	maybe(t, o, "protocolVersion", rapid.SampledFrom([]string{"auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}))
	maybe(t, o, "resultLimit", rapid.SampledFrom([]any{nil, 0}))
	maybe(t, o, "taskTimeout", rapid.IntRange(1_000, 86_400_000))
	maybe(t, o, "sessionMode", rapid.SampledFrom([]string{"shared", "per-client"}))
	maybe(t, o, "definitionPolicy", rapid.SampledFrom([]string{"follow", "approve"}))
	headers := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x-a", "X-A", "Authorization", "x-B-c", "X_d"}), 0, 3, strings.ToLower).Draw(t, "headers") {
		headers[name] = secret.Draw(t, name)
	}
	o["headers"] = headers
	if rapid.Bool().Draw(t, "with oauth") {
		oauth := map[string]any{}
		maybe(t, oauth, "clientId", text(20))
		maybe(t, oauth, "clientSecret", secret)
		maybe(t, oauth, "scopes", listed())
		o["oauth"] = oauth
	}
	return o
}

func TestExportOrdersByName(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, `{"projects":{"b":{"mcpServers":{"z":{"url":"https://z.example"},"B":{"url":"https://b.example"},"a":{"url":"https://a.example"}}},"a":{}}}`)
	file := s.export(t, "")
	var at []int
	for _, key := range []string{`"a": {`, `"b": {`, `"B": {`, `    "a": {` + "\n" + `          "url"`, `"z": {`} {
		at = append(at, strings.Index(file, key))
	}
	if !slices.IsSorted(at) || at[0] < 0 {
		t.Errorf("order = %v in %s", at, file)
	}
}
