package declaration_test

import (
	"encoding/base64"
	"testing"

	"mcpgateway/services/declaration"
)

// imageURL returns a data: URL of a media type.
func imageURL(mediaType, image string) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString([]byte(image))
}

const (
	png  = "\x89PNG\x0d\x0a\x1a\x0a rest"
	jpeg = "\xff\xd8\xff rest"
	webp = "RIFF\x00\x00\x00\x00WEBPVP8 rest"
)

func TestIdentityValues(t *testing.T) {
	const icon, website = "use an https: URL, or a data: URL with a PNG, JPEG or WebP image as base64", "use a URL that starts with https:// or http://, without user name and password"
	for _, tt := range []struct{ key, value, problem string }{
		{"icon", "", ""},
		{"icon", "https://x.example/i.png?a=b", ""},
		{"icon", imageURL("image/png", png), ""},
		{"icon", imageURL("image/jpeg", jpeg), ""},
		{"icon", imageURL("image/webp", webp), ""},
		{"icon", imageURL("image/png", jpeg), icon},
		{"icon", imageURL("image/svg+xml", "<svg/>"), icon},
		{"icon", imageURL("text/html", "<p>"), icon},
		{"icon", "data:image/png," + png, icon},
		{"icon", "data:image/png;base64,===", icon},
		{"icon", "http://x.example/i.png", icon},
		{"icon", "javascript:alert(1)", icon},
		{"icon", "https://me:pw@x.example/i.png", icon},
		{"icon", "https://x.example/a b", icon},
		{"icon", "i.png", icon},
		{"websiteUrl", "", ""},
		{"websiteUrl", "http://127.0.0.1:8080/", ""},
		{"websiteUrl", "https://x.example/#about", ""},
		{"websiteUrl", "ftp://x.example", website},
		{"websiteUrl", "https://me@x.example", website},
		{"websiteUrl", "https:///path", website},
		{"websiteUrl", "https://x.example/\"><script>", website},
		{"websiteUrl", "x.example", website},
	} {
		_, err := declaration.Parse([]byte(inProject(quote(tt.key) + ":" + quote(tt.value))))
		if tt.problem == "" {
			if err != nil {
				t.Errorf("%s %q: %v", tt.key, tt.value, fieldsOf(err))
			}
			continue
		}
		wantProblem(t, err, tt.problem, "projects.p."+tt.key)
	}
}

func TestProtocolKeysSuggest(t *testing.T) {
	for _, tt := range []struct{ field, problem, key string }{
		{`"protocolVersion":"2025-11-26"`, "use one of auto, 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05", "protocolVersion"},
		{`"protocolVersion":""`, "use one of auto, 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05", "protocolVersion"},
		{`"protocolversion":"auto"`, "unknown key: did you mean protocolVersion?", "protocolversion"},
		{`"taskTimeOut":1000`, "unknown key: did you mean taskTimeout?", "taskTimeOut"},
	} {
		_, err := declaration.Parse([]byte(inServer(tt.field)))
		wantProblem(t, err, tt.problem, "projects.p.mcpServers.s."+tt.key)
	}
	for _, tt := range []struct{ field, problem, key string }{
		{`"toolNames":"plain"`, "use one of prefixed, bare", "toolNames"},
		{`"serverCard":"yes"`, "use true or false", "serverCard"},
		{`"websiteURL":""`, "unknown key: did you mean websiteUrl?", "websiteURL"},
	} {
		_, err := declaration.Parse([]byte(inProject(tt.field)))
		wantProblem(t, err, tt.problem, "projects.p."+tt.key)
	}
}
