//go:build conformance

package extensions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	counterURI = "v1://counter"
	ofNine     = "v1://+nine/counter" // of the server that came later
)

// counters starts a gateway with two servers that have equal URIs. Three claims them,
// because it comes first.
func counters(t *testing.T) *gateway {
	t.Helper()
	g := open(t, map[string]string{"a": startUpstream(t, "counter.mjs", "COUNT=3").url})
	g.add(t, "nine", startUpstream(t, "counter.mjs", "COUNT=9").url)
	return g
}

// listed returns the listed values of a member, sorted.
func (c *client) listed(t *testing.T, method, list, member string) []string {
	t.Helper()
	var result map[string]json.RawMessage
	c.request(t, method, object{}, &result)
	var entries []map[string]any
	decode(t, result[list], &entries)
	var values []string
	for _, entry := range entries {
		values = append(values, fmt.Sprint(entry[member]))
	}
	slices.Sort(values)
	return values
}

// contents returns the text and the URI of a resource.
func (c *client) contents(t *testing.T, uri string) (text, shown string) {
	t.Helper()
	var result struct{ Contents []struct{ Text, URI string } }
	c.request(t, "resources/read", object{"uri": uri}, &result)
	if len(result.Contents) != 1 {
		t.Fatalf("resources/read %s: got %+v", uri, result)
	}
	return result.Contents[0].Text, result.Contents[0].URI
}

// TestEqualAddresses reads, completes, follows and subscribes to resources of two
// servers with equal URIs.
func TestEqualAddresses(t *testing.T) {
	t.Parallel()
	g := counters(t)
	for _, script := range []string{sdk1, sdk2} {
		c := connect(t, script, settings{URL: g.url()})
		want(t, "resources", strings.Join(c.listed(t, "resources/list", "resources", "uri"), " "), ofNine+" "+counterURI)
		want(t, "templates", strings.Join(c.listed(t, "resources/templates/list", "resourceTemplates", "uriTemplate"), " "), "v1://+nine/history/{day} v1://history/{day}")
		for uri, count := range map[string]string{
			counterURI: "3", ofNine: "9", "v1://history/monday": "3 on monday", "v1://+nine/history/monday": "9 on monday",
		} {
			text, shown := c.contents(t, uri)
			want(t, uri, text, count)
			want(t, "contents[].uri", shown, uri)
		}
		for template, value := range map[string]string{"v1://history/{day}": "m-of-3", "v1://+nine/history/{day}": "m-of-9"} {
			var result struct{ Completion struct{ Values []string } }
			c.request(t, "completion/complete", object{
				"ref": object{"type": "ref/resource", "uri": template}, "argument": object{"name": "day", "value": "m"},
			}, &result)
			want(t, template, strings.Join(result.Completion.Values, " "), value)
		}
		for alias, uri := range map[string]string{"a": counterURI, "nine": ofNine} {
			var result toolResult
			c.do(t, "callTool", object{"params": object{"name": alias + "__link", "arguments": object{}}}, &result)
			want(t, "link of "+alias, result.Content[0].URI, uri)
		}
	}
}

// TestQualifiedArgument passes an address to a tool of its server, which must receive
// its own address.
func TestQualifiedArgument(t *testing.T) {
	t.Parallel()
	g := counters(t)
	c := connect(t, sdk1, settings{URL: g.url()})
	want(t, "own address", c.callTool(t, "nine__open", object{"uri": ofNine}), "9 got "+counterURI)
	want(t, "address in a text", c.callTool(t, "nine__open", object{"uri": "see " + ofNine}), "9 got see "+ofNine)
	want(t, "other server", c.callTool(t, "a__open", object{"uri": ofNine}), "3 got "+ofNine)
}

// TestUpdatesOfEqualAddresses subscribes to both and changes each.
func TestUpdatesOfEqualAddresses(t *testing.T) {
	t.Parallel()
	const updated = "notifications/resources/updated"
	g := counters(t)
	c := connect(t, sdk1, settings{URL: g.url()})
	for _, uri := range []string{counterURI, ofNine} {
		c.request(t, "resources/subscribe", object{"uri": uri}, nil)
	}
	for alias, uri := range map[string]string{"a": counterURI, "nine": ofNine} {
		before := c.count(updated, `"`+uri+`"`)
		eventually(t, "update of "+uri, func() error {
			c.callTool(t, alias+"__touch", object{})
			if c.count(updated, `"`+uri+`"`) == before {
				return fmt.Errorf("no update of %s: %s", uri, c.messages())
			}
			return nil
		})
	}
}

// TestAddressesStay adds a third server, restarts the gateway and switches the first
// server off: no address changes, and no other server provides its resources.
func TestAddressesStay(t *testing.T) {
	t.Parallel()
	g := counters(t)
	g.add(t, "abc", startUpstream(t, "counter.mjs", "COUNT=1").url) // before nine by name
	check := func(when string) *client {
		c := connect(t, sdk1, settings{URL: g.url()})
		for uri, count := range map[string]string{counterURI: "3", ofNine: "9", "v1://+abc/counter": "1"} {
			text, _ := c.contents(t, uri)
			want(t, uri+" "+when, text, count)
		}
		return c
	}
	check("with a third server")
	g.restart(t)
	g.awaitTools(t, "")
	c := check("after a restart")
	off := g.servers["a"]
	off.Disabled = true
	g.servers["a"] = off
	g.apply(t)
	eventually(t, "the first server is off", func() error {
		if slices.Contains(c.tools(t), "a__link") {
			return fmt.Errorf("its tools are still listed")
		}
		return nil
	})
	fault := c.fault(t, "resources/read", object{"uri": counterURI})
	want(t, "code", fmt.Sprint(fault.Code), "-32002")
	if !strings.Contains(fault.Message, "a") {
		t.Errorf("message %q doesn't name the server", fault.Message)
	}
	for uri, count := range map[string]string{ofNine: "9", "v1://+abc/counter": "1"} {
		text, _ := c.contents(t, uri)
		want(t, uri+" without the first server", text, count)
	}
}

// TestSkillsOfTwoServers reads all skills of two servers with equal URIs. The SDK
// compares each file with its digest.
func TestSkillsOfTwoServers(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{
		"shop": startUpstream(t, "skills.mjs", "SKILLS_TEXT=the shop").url,
	})
	g.add(t, "bank", startUpstream(t, "skills.mjs", "SKILLS_TEXT=the bank").url)
	for _, legacy := range []bool{false, true} {
		c := connect(t, sdk2, settings{URL: g.url(), Legacy: legacy})
		var result struct {
			Skills []struct {
				URI, Name       string
				Texts, Children []string
			}
		}
		c.do(t, "skills", nil, &result)
		var uris []string
		for _, skill := range result.Skills {
			uris = append(uris, skill.URI)
			owner := "the shop"
			if strings.HasPrefix(skill.URI, "skill://+bank/") {
				owner = "the bank"
			}
			for _, text := range skill.Texts {
				if !strings.Contains(text, owner) {
					t.Errorf("%s: got %q, want a file of %s", skill.URI, text, owner)
				}
			}
			folder := strings.TrimSuffix(skill.URI, "SKILL.md")
			slices.Sort(skill.Children)
			want(t, "files", len(skill.Texts), 2)
			want(t, "children", strings.Join(skill.Children, " "), folder+"SKILL.md "+folder+"references")
		}
		slices.Sort(uris)
		want(t, "skills", strings.Join(uris, " "),
			"skill://+bank/invoices/SKILL.md skill://+bank/refunds/SKILL.md skill://invoices/SKILL.md skill://refunds/SKILL.md")
	}
}
