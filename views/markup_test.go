package views_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// allowed are the dynamic values of src attributes: the URLs of our
// scripts, checked values, and the document of a sandboxed frame.
var allowed = regexp.MustCompile(`^(scripts\.(App|HTMX)|safeIconURL\(\w+\)|iconPath\(\w+\)|paths\.ToolAppFrame\(p\.Slug, p\.Name\))$`)

// sandboxed is the only frame. Scripts in it have an opaque origin.
const sandboxed = `<iframe class="app-frame" title="App" sandbox="allow-scripts" referrerpolicy="no-referrer" src={ paths.ToolAppFrame(p.Slug, p.Name) }></iframe>`

// TestMarkupFollowsContentSecurityPolicy reads every page: templ escapes
// the values of src, hx-* and style, but does not validate them.
func TestMarkupFollowsContentSecurityPolicy(t *testing.T) {
	var (
		dynamic = regexp.MustCompile(`(?:^|\s)(src|srcset|srcdoc|hx-[a-z:-]+)=\{\s*([^}]*?)\s*\}`)
		inline  = regexp.MustCompile(`(?:^|[\s"])(style|on[a-z]+)=["{]|<style|<iframe|<object|<embed|templ\.Raw\(`)
	)
	pages := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".templ") {
			return err
		}
		pages++
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for number, line := range strings.Split(string(content), "\n") {
			for _, found := range dynamic.FindAllStringSubmatch(line, -1) {
				if found[1] != "src" || !allowed.MatchString(found[2]) {
					t.Errorf("%s:%d: %s = %s is not validated", path, number+1, found[1], found[2])
				}
			}
			if strings.TrimSpace(line) == sandboxed {
				continue
			}
			if found := inline.FindString(line); found != "" {
				t.Errorf("%s:%d: %q violates the content security policy", path, number+1, strings.TrimSpace(found))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 20 {
		t.Errorf("found only %d pages", pages)
	}
}
