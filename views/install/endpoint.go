package install

import "net/url"

// Endpoint returns the name in clients and the URL of the endpoint for a caller
// who can use some toolsets of a project: that of the only toolset, or of the
// project.
func Endpoint(public *url.URL, slug string, toolsets []string) (name, endpoint string) {
	if len(toolsets) == 1 {
		return slug + "-" + toolsets[0], public.JoinPath("v1", "mcp", slug, "toolsets", toolsets[0], "request").String()
	}
	return slug, public.JoinPath("v1", "mcp", slug, "request").String()
}
