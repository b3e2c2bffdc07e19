package bed

// Programs are what is measured, and a folder for what they store.
type Programs struct {
	Gateway string // binary
	Self    string // the binary of this program
	Folder  string
}

// Declare returns a declarative file with one project that wants API keys, and
// its servers' URLs by alias.
func Declare(project string, servers map[string]string) any {
	type server struct {
		URL string `json:"url"`
	}
	declared := map[string]server{}
	for alias, url := range servers {
		declared[alias] = server{url}
	}
	return map[string]any{"projects": map[string]any{project: map[string]any{"authMode": "api_key", "mcpServers": declared}}}
}

// ProjectPath returns the path of a project's endpoint.
func ProjectPath(project string) string { return "/v1/mcp/" + project + "/request" }
