package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/codemode"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript/typescripttest"
)

// listAll returns the whole declarations of a project.
func listAll(t testing.TB, d *codemode.Declarations, project *toolset.Snapshot) *codemode.Listing {
	t.Helper()
	l, err := d.List(t.Context(), project, toolsearch.Caller{ID: "key-1"}, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestDeclarationsBuiltOncePerSnapshot(t *testing.T) {
	d := newDeclarations(t)
	p := newDeclaredProject("p").server("git", nil, "read", "write")
	before := p.snapshot()
	var all [8]*codemode.Listing
	var callers sync.WaitGroup
	for i := range all {
		callers.Go(func() { all[i] = listAll(t, d, before) })
	}
	callers.Wait()
	for _, l := range all {
		if l != all[0] {
			t.Error("concurrent List calls built the declarations more than once")
		}
	}
	if full, err := d.Full(t.Context(), before); err != nil || full.Text != all[0].Text {
		t.Errorf("Full() differs from List() (error %v)", err)
	}
	p.source.Servers[0].DenyTools = models.StringList{"write"}
	p.source.Project.CodeModeAllowFetch = true
	now := listAll(t, d, p.snapshot())
	if strings.Contains(now.Text, `"write"`) || !strings.Contains(now.Text, "declare function fetch(") {
		t.Errorf("List() after a change = \n%s\nwant no removed tool and the new fetch", now.Text)
	}
	p.source.Project.CodeModeEnabled = false
	if _, err := d.List(t.Context(), p.snapshot(), toolsearch.Caller{ID: "key-1"}, []byte(`{}`)); err == nil {
		t.Error("List() with Code Mode off succeeded")
	}
	d.Forget("p")
	if bytes, projects := codemode.Kept(d); bytes != 0 || projects != 0 {
		t.Errorf("after Forget: %d bytes of %d projects cached, want none", bytes, projects)
	}
}

// TestDeclarationsForCode checks which servers have types in a type check: in
// large projects only those that the code names.
func TestDeclarationsForCode(t *testing.T) {
	names := func(prefix string, n int) []string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%s_%04d_%s", prefix, i, strings.Repeat("x", 50)))
		}
		return all
	}
	d := newDeclarations(t)
	for _, tt := range []struct {
		name, code string
		tools      int
		typed, any []string
	}{
		{"small project", "return 1", 5, []string{"git", "my$_disk"}, nil},
		{"large project", "return await my$_disk.a({})", 2000, []string{"my$_disk"}, []string{"git"}},
		{"large project, no server", "return 1", 2000, nil, []string{"git", "my$_disk"}},
	} {
		project := newDeclaredProject("p").server("git", nil, names("git", tt.tools)...).server("my-disk", nil, "a").snapshot()
		text, err := d.ForCode(t.Context(), project, tt.code)
		if err != nil {
			t.Fatal(err)
		}
		for _, ident := range tt.typed {
			if !strings.Contains(text, "declare const "+ident+": {") {
				t.Errorf("%s: no types of %s", tt.name, ident)
			}
		}
		for _, ident := range tt.any {
			if !strings.Contains(text, "declare const "+ident+": any;") {
				t.Errorf("%s: %s is not any", tt.name, ident)
			}
		}
		if strings.Count(text, "declare const git:") != 1 || !strings.Contains(text, "declare const gateway: Gateway;") {
			t.Errorf("%s: declarations begin %.300s", tt.name, text)
		}
	}
}

func TestDeclarationCacheBound(t *testing.T) {
	d := newDeclarations(t)
	var projects []*toolset.Snapshot
	for i := range 4 {
		projects = append(projects, newDeclaredProject(fmt.Sprint("p", i)).server("git", nil, "a", "b").snapshot())
	}
	first := listAll(t, d, projects[0])
	each, _ := codemode.Kept(d)
	if each < len(first.Text)+len(first.Structured) {
		t.Fatalf("cached size = %d bytes, less than the declarations", each)
	}
	codemode.LimitKept(d, 3*each)
	second := listAll(t, d, projects[1])
	listAll(t, d, projects[2])
	if bytes, n := codemode.Kept(d); bytes != 3*each || n != 3 {
		t.Errorf("%d bytes of %d projects cached, want those of 3", bytes, n)
	}
	if listAll(t, d, projects[0]) != first {
		t.Error("declarations within the limit were not cached")
	}
	listAll(t, d, projects[3])
	if bytes, n := codemode.Kept(d); bytes != 3*each || n != 3 {
		t.Errorf("%d bytes of %d projects cached, want those of 3", bytes, n)
	}
	if listAll(t, d, projects[0]) != first {
		t.Error("the most recently used declarations were evicted")
	}
	if listAll(t, d, projects[1]) == second {
		t.Error("the least recently used declarations were kept")
	}
	codemode.LimitKept(d, each-1)
	d.Forget("p3")
	listAll(t, d, projects[3])
	if bytes, n := codemode.Kept(d); bytes != 0 || n != 0 {
		t.Errorf("%d bytes of %d projects cached, want none", bytes, n)
	}
}

func TestDeclarationsRebuiltAfterCancel(t *testing.T) {
	d := newDeclarations(t)
	project := newDeclaredProject("p").server("git", nil, "a").snapshot()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Full(ctx, project); !errors.Is(err, context.Canceled) {
		t.Fatalf("Full() with a cancelled context: %v, want context.Canceled", err)
	}
	if l := listAll(t, d, project); !strings.Contains(l.Text, "declare const git") {
		t.Errorf("declarations = %q", l.Text)
	}
}

// BenchmarkDeclarations500 measures the declarations of 500 tools: built, and
// listed again from the cache.
func BenchmarkDeclarations500(b *testing.B) {
	const schema = `{"type":"object","properties":{"owner":{"type":"string","description":"Account that owns the repository."},"repo":{"type":"string","description":"Name of the repository."},
		"state":{"enum":["open","closed","all"],"default":"open"},"labels":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","properties":{"name":{"type":"string"},"color":{"type":"string","pattern":"^[0-9a-f]{6}$"}},"required":["name"]}]}},
		"since":{"type":"string","format":"date-time","description":"Only what was changed later."},"page":{"type":"integer","minimum":1},"perPage":{"type":"integer","minimum":1,"maximum":100,"default":30},"parent":{"$ref":"#/$defs/Parent"}},
		"required":["owner","repo"],"$defs":{"Parent":{"type":"object","properties":{"id":{"type":"string"},"parent":{"$ref":"#/$defs/Parent"}},"required":["id"]}},"additionalProperties":false}`
	project := &toolset.Snapshot{Project: models.Project{ID: "p", CodeModeEnabled: true}}
	for i := range 500 {
		project.Tools = append(project.Tools, typescripttest.HostileTool(fmt.Sprintf("list_issues_%d", i), strings.Repeat("Lists the issues of a repository, newest first. ", 8), schema))
	}
	d := codemode.NewDeclarations(nil)
	b.Run("made", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.Forget("p")
			listAll(b, d, project)
		}
	})
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			listAll(b, d, project)
		}
	})
}
