package static_test

import (
	"bytes"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"mcpgateway/static"
)

func TestEveryFileHasAnAddressOfItsContent(t *testing.T) {
	for _, name := range []string{"css/app.css", "js/app.js", "vendor/htmx.min.js", "icons.svg", "fonts/inter.woff2", "favicon.ico", "apple-touch-icon.png", "og.png"} {
		url := static.URL(name)
		parts := regexp.MustCompile(`^/static/([0-9a-f]{12})/(.+)$`).FindStringSubmatch(url)
		if parts == nil || parts[2] != name {
			t.Errorf("%s is at %q", name, url)
			continue
		}
		if content, ok := static.Open(parts[1], name); !ok || len(content) == 0 {
			t.Errorf("%s cannot be opened under its own hash", name)
		}
		if _, ok := static.Open("000000000000", name); ok {
			t.Errorf("%s is opened under another hash", name)
		}
	}
	for _, name := range []string{"nothing.css", "../static.go", "vendor/LICENSE.htmx", "css", "css/base.css", "js/page.js"} {
		if url := static.URL(name); url != "" {
			t.Errorf("%s is served at %q", name, url)
		}
	}
}

func TestTheBudgetsOfStylesAndScripts(t *testing.T) {
	for _, tc := range []struct {
		what  string
		files []string
		most  int
	}{
		{"styles", []string{"css/app.css"}, 12_000},
		{"scripts", []string{"js/app.js", "vendor/htmx.min.js"}, 26_000},
	} {
		sum := 0
		for _, name := range tc.files {
			sum += zipped(t, open(t, name))
		}
		if sum < 1_000 || sum > tc.most {
			t.Errorf("the %s are %d bytes compressed, want at most %d", tc.what, sum, tc.most)
		}
	}
}

func TestEveryIconIsDrawnOnce(t *testing.T) {
	sprite := string(open(t, "icons.svg"))
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(`<symbol id="([a-z0-9-]+)" viewBox="0 0 (?:24 24|32 32)">[^\n]+</symbol>`).FindAllStringSubmatch(sprite, -1) {
		if seen[found[1]] {
			t.Errorf("%s is there twice", found[1])
		}
		seen[found[1]] = true
	}
	if len(seen) < 50 || len(seen) != strings.Count(sprite, "<symbol") || !seen["brand"] {
		t.Errorf("%d icons of %d can be read", len(seen), strings.Count(sprite, "<symbol"))
	}
	if regexp.MustCompile(`(?i)<script|\son[a-z]+=|style=|https?://(?:[^wl]|w[^w])`).MatchString(strings.ReplaceAll(sprite, "http://www.w3.org/2000/svg", "")) {
		t.Error("the sprite holds scripts, styles or foreign addresses")
	}
}

func TestStylesheetNamesExistingFiles(t *testing.T) {
	css := string(open(t, "css/app.css"))
	found := regexp.MustCompile(`url\("([^"]*)"\)`).FindAllStringSubmatch(css, -1)
	if len(found) < 2 {
		t.Fatalf("%d files", len(found))
	}
	for _, f := range found {
		parts := strings.SplitN(strings.TrimPrefix(f[1], "/static/"), "/", 2)
		if len(parts) != 2 {
			t.Errorf("%q is no address of a file", f[1])
		} else if _, ok := static.Open(parts[0], parts[1]); !ok {
			t.Errorf("%q does not exist", f[1])
		}
	}
}

func open(t *testing.T, name string) []byte {
	t.Helper()
	content, ok := static.Open(strings.Split(static.URL(name), "/")[2], name)
	if !ok {
		t.Fatalf("%s cannot be opened", name)
	}
	return content
}

// zipped returns the size of content as browsers receive it.
func zipped(t *testing.T, content []byte) int {
	t.Helper()
	var b bytes.Buffer
	w := brotli.NewWriterLevel(&b, brotli.BestCompression)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

func TestPictureForOtherSitesIsSmall(t *testing.T) {
	content := open(t, "og.png")
	config, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil || config.Width != 1200 || config.Height != 630 || len(content) > 60_000 {
		t.Errorf("og.png: %d×%d, %d bytes, %v; want 1200×630, at most 60,000 bytes", config.Width, config.Height, len(content), err)
	}
}
