package eras_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

const (
	skillsHandshake = "2025-11-25"
	guideFile       = "references/GUIDE.md"
)

// skillServer returns a server whose files differ from those of others at equal
// URIs.
func skillServer(era upstreamtest.Era, owner string, names ...string) *upstreamtest.Server {
	skills := make([]upstreamtest.Skill, len(names))
	for i, name := range names {
		skills[i] = upstreamtest.Skill{URI: "skill://" + name + "/SKILL.md", Description: name + " of " + owner, Files: map[string]string{guideFile: "guide of " + owner}}
	}
	return upstreamtest.New(upstreamtest.Options{
		Eras: []upstreamtest.Era{era}, Capabilities: upstreamtest.SkillsCapabilities, Methods: upstreamtest.SkillMethods(1, skills...), Tools: upstreamtest.Standard(1),
	})
}

// skill is an entry of skills/list.
type skill struct {
	URI         string
	Frontmatter struct{ Name, Description string }
	Resources   []struct {
		URI, Digest string
		Size        int
	}
	Meta map[string]string `json:"_meta"`
}

func listSkills(t *testing.T, c *routestest.Client) []skill {
	t.Helper()
	var result struct {
		Skills     []skill
		TTL        *int `json:"ttlMs"`
		CacheScope string
	}
	raw := send(t, c, "skills/list", `{}`)
	if err := json.Unmarshal([]byte(raw), &result); err != nil {
		t.Fatal(err)
	}
	if stateless := c.Version == routestest.Stateless; stateless != (result.TTL != nil) || stateless != (result.CacheScope == "private") {
		t.Errorf("%s: cache hints of %s", c.Version, raw)
	}
	return result.Skills
}

func urisOf(skills []skill) string {
	uris := make([]string, len(skills))
	for i, s := range skills {
		uris[i] = s.URI
	}
	return strings.Join(uris, " ")
}

// TestSkillsOfTwoServers lists, gets and reads the skills of two servers with equal
// URIs, of both eras, for clients of both eras.
func TestSkillsOfTwoServers(t *testing.T) {
	g := startOn(t, modelstest.SQLite(t), map[string]*upstreamtest.Server{"shop": skillServer(upstreamtest.Era20251125, "shop", "refunds")})
	bank := skillServer(upstreamtest.Era20260728, "bank", "refunds", "payroll")
	g.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"bank":{"url":%q}},"toolsets":{
		"all":{"include":["shop__*"],"offersOf":["shop"]},"tools":{"include":["shop__*","bank__*"]}}}}}`, bank.Start(t)))
	g.Sync(t, "p", "bank")
	for _, version := range []string{skillsHandshake, routestest.Stateless} {
		t.Run(version, func(t *testing.T) {
			c := g.client(t, &routestest.Client{Version: version})
			skills := listSkills(t, c)
			if got, want := urisOf(skills), "skill://+bank/refunds/SKILL.md skill://payroll/SKILL.md skill://refunds/SKILL.md"; got != want {
				t.Fatalf("skills: %s, want %s", got, want)
			}
			for i, owner := range []string{"bank", "bank", "shop"} {
				verifySkill(t, c, skills[i], owner)
			}
			wantInvalid(t, c, "skills/get", "skill://unknown/SKILL.md", "skill://+bank/unknown/SKILL.md", "file:///x", "skill://refunds/"+guideFile)
			wantInvalid(t, c, "resources/directory/read", "skill://refunds/SKILL.md", "skill://unknown", "skill://payroll/none")
		})
		t.Run(version+" views", func(t *testing.T) { wantViews(t, g, version) })
	}
}

// verifySkill gets a listed skill, reads its files and its folders.
func verifySkill(t *testing.T, c *routestest.Client, listed skill, owner string) {
	t.Helper()
	if listed.Meta["gateway/server"] != owner || listed.Frontmatter.Description != listed.Frontmatter.Name+" of "+owner || len(listed.Resources) != 2 {
		t.Errorf("entry of %s: %+v", owner, listed)
	}
	var got struct{ Skill skill }
	if err := json.Unmarshal([]byte(send(t, c, "skills/get", `{"uri":"`+listed.URI+`"}`)), &got); err != nil || fmt.Sprint(got.Skill) != fmt.Sprint(listed) {
		t.Errorf("skills/get: %+v, %v, want %+v", got.Skill, err, listed)
	}
	root := strings.TrimSuffix(listed.URI, "SKILL.md")
	for _, file := range listed.Resources {
		var read struct{ Contents []struct{ URI, Text string } }
		if err := json.Unmarshal([]byte(send(t, c, "resources/read", `{"uri":"`+file.URI+`"}`)), &read); err != nil || len(read.Contents) != 1 {
			t.Fatalf("%s: %+v, %v", file.URI, read, err)
		}
		text := read.Contents[0].Text
		if digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); !strings.HasPrefix(file.URI, root) || read.Contents[0].URI != file.URI ||
			digest != file.Digest || len(text) != file.Size || !strings.Contains(text, "of "+owner) {
			t.Errorf("%s: %+v, digest %s, want %+v", owner, read, digest, file)
		}
	}
	for folder, want := range map[string]string{
		strings.TrimSuffix(root, "/"): root + "SKILL.md " + root + "references", root: root + "SKILL.md " + root + "references", root + "references": root + guideFile,
	} {
		var read struct{ Resources []skill }
		if err := json.Unmarshal([]byte(send(t, c, "resources/directory/read", `{"uri":"`+folder+`"}`)), &read); err != nil || urisOf(read.Resources) != want {
			t.Errorf("%s: %+v, %v, want %s", folder, read, err, want)
		}
	}
}

// wantInvalid checks that a method returns -32602 for the URIs.
func wantInvalid(t *testing.T, c *routestest.Client, method string, uris ...string) {
	t.Helper()
	for _, uri := range uris {
		m, err := c.Send(t.Context(), method, `{"uri":"`+uri+`"}`)
		if err != nil || !strings.Contains(string(m.Error), `"code":-32602`) {
			t.Errorf("%s %s %s: %s %s, %v", c.Version, method, uri, m.Result, m.Error, err)
		}
	}
}

// wantViews checks that views have the skills of servers whose resources they
// include.
func wantViews(t *testing.T, g *gateway, version string) {
	t.Helper()
	shop := (&routestest.Client{Version: version, Endpoint: g.origin + "/v1/mcp/p/toolsets/all/request"}).Open(t)
	if got := urisOf(listSkills(t, shop)); got != "skill://refunds/SKILL.md" {
		t.Errorf("skills of the toolset: %s", got)
	}
	wantInvalid(t, shop, "skills/get", "skill://+bank/refunds/SKILL.md", "skill://payroll/SKILL.md")
	wantInvalid(t, shop, "resources/directory/read", "skill://payroll")
	none := (&routestest.Client{Version: version, Endpoint: g.origin + "/v1/mcp/p/toolsets/tools/request"}).Open(t)
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		if m, err := none.Send(t.Context(), method, `{"uri":"skill://refunds/SKILL.md"}`); err != nil || !strings.Contains(string(m.Error), `"code":-32601`) {
			t.Errorf("%s without resources: %s %s, %v", method, m.Result, m.Error, err)
		}
	}
}

// TestSkillsAreAdvertised checks the settings that a project shows for its servers,
// and what happens to the skills of a server that is switched off.
func TestSkillsAreAdvertised(t *testing.T) { modelstest.EachDSN(t, advertisesSkills) }

func advertisesSkills(t *testing.T, dsn string) {
	g := startOn(t, dsn, map[string]*upstreamtest.Server{"shop": skillServer(upstreamtest.Era20260728, "shop", "refunds")})
	extensions := func(version string) string {
		var result struct {
			Capabilities struct{ Extensions map[string]json.RawMessage }
		}
		method := map[string]string{skillsHandshake: "initialize", routestest.Stateless: "server/discover"}[version]
		raw := send(t, g.client(t, &routestest.Client{Version: version}), method, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
		if err := json.Unmarshal([]byte(raw), &result); err != nil {
			t.Fatal(err)
		}
		return string(result.Capabilities.Extensions["io.modelcontextprotocol/skills"])
	}
	plain := upstreamtest.New(upstreamtest.Options{Capabilities: `{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}`,
		Methods: upstreamtest.SkillMethods(0, upstreamtest.Skill{URI: "skill://invoices/SKILL.md"})})
	for _, version := range []string{skillsHandshake, routestest.Stateless} {
		if got := extensions(version); got != `{"directoryRead":true}` {
			t.Errorf("%s, one server: %s", version, got)
		}
	}
	g.Apply(t, fmt.Sprintf(`{"projects":{"p":{"mcpServers":{"plain":{"url":%q}}}}}`, plain.Start(t)))
	g.Sync(t, "p", "plain")
	for _, version := range []string{skillsHandshake, routestest.Stateless} {
		if got := extensions(version); got != `{}` {
			t.Errorf("%s, two servers: %s", version, got)
		}
		wantInvalid(t, g.client(t, &routestest.Client{Version: version}), "resources/directory/read", "skill://invoices")
	}
	g.Apply(t, `{"projects":{"p":{"mcpServers":{"shop":{"enabled":false}}}}}`)
	for _, version := range []string{skillsHandshake, routestest.Stateless} {
		c := g.client(t, &routestest.Client{Version: version})
		if got := urisOf(listSkills(t, c)); got != "skill://invoices/SKILL.md" {
			t.Errorf("%s: skills with one server off: %s", version, got)
		}
		m, err := c.Send(t.Context(), "skills/get", `{"uri":"skill://refunds/SKILL.md"}`)
		if err != nil || !strings.Contains(string(m.Error), `"code":-32602`) || !strings.Contains(string(m.Error), "server shop, which is disabled") {
			t.Errorf("%s: skill of a server that is off: %s, %v", version, m.Error, err)
		}
	}
}

// TestSkillLimits reads lists of skills at the limits of a server.
func TestSkillLimits(t *testing.T) {
	entry := func(i, files, description int) string {
		uri := fmt.Sprintf("skill://s%d/SKILL.md", i)
		file := `{"uri":"` + uri + `","digest":"d","size":1}`
		return fmt.Sprintf(`{"uri":%q,"frontmatter":{"name":"s%d","description":%q},"resources":[%s]}`, uri, i, strings.Repeat("d", description), strings.Repeat(file+",", files-1)+file)
	}
	many := func(n int) (all []string) {
		for i := range n {
			all = append(all, entry(i, 1, 1))
		}
		return all
	}
	half := entry(0, 1, 2<<20)
	fill := func(more int) []string {
		second := entry(1, 1, 1)
		return []string{half, entry(1, 1, 4<<20+more-len(half)-len(second)+1)}
	}
	cases := map[string]struct {
		entries []string
		want    int
		warning string
	}{
		"999":              {many(999), 999, ""},
		"1,000":            {many(1000), 1000, ""},
		"1,001":            {many(1001), 1000, "there are more than 1000 skills; the rest was omitted"},
		"511 files":        {[]string{entry(0, 511, 1)}, 1, ""},
		"512 files":        {[]string{entry(0, 512, 1)}, 1, ""},
		"513 files":        {[]string{entry(0, 513, 1), entry(1, 1, 1)}, 1, `skill "skill://s0/SKILL.md" was omitted: it has more than 512 files`},
		"4 MiB less one":   {fill(-1), 2, ""},
		"4 MiB":            {fill(0), 2, ""},
		"4 MiB and a byte": {fill(1), 1, "the definitions of the skills are larger than 4 MiB; the rest was omitted"},
	}
	var listed atomic.Value // by the server
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Capabilities: upstreamtest.SkillsCapabilities, Methods: map[string]upstreamtest.Handler{
		"skills/list": func(context.Context, *upstreamtest.Call) upstreamtest.Result {
			return upstreamtest.JSON(listed.Load().(string))
		},
	}})
	listed.Store(`{"skills":[]}`)
	g := start(t, map[string]*upstreamtest.Server{"many": s})
	c := g.client(t, &routestest.Client{Version: skillsHandshake})
	for name, test := range cases {
		listed.Store(`{"skills":[` + strings.Join(test.entries, ",") + `]}`)
		g.Sync(t, "p", "many")
		if got := len(listSkills(t, c)); got != test.want {
			t.Errorf("%s: %d skills, want %d", name, got, test.want)
		}
		var row models.Inventory
		if err := g.Services.DB.Take(&row, "server_id = ?", g.ServerID(t, "p", "many")).Error; err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(row.Warnings, "\n"); got != test.warning {
			t.Errorf("%s: warnings %q, want %q", name, got, test.warning)
		}
	}
}
