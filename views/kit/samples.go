package kit

import (
	"time"
)

// noon is the fixed time of all samples, so that the page always looks the same.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type tool struct {
	name, text, server, calls, p95 string
	on                             bool
}

func tools() []tool {
	return []tool{
		{"github__create_issue", "Open an issue in a repository", "github", "4,210", "412 ms", true},
		{"github__search_code", "Search code across repositories", "github", "3,902", "388 ms", true},
		{"linear__list_issues", "List issues with filters", "linear", "2,115", "201 ms", true},
		{"notion__query_database", "Query a database with filter and sort", "notion", "0", "–", false},
		{"jira__transition_issue", "Move an issue to another state", "jira", "37", "1.9 s", true},
	}
}

type server struct{ name, text, domain string }

func servers() []server {
	return []server{
		{"GitHub", "Repositories, issues and pull requests.", "github.com"},
		{"Linear", "Issues and projects.", "linear.app"},
		{"Notion", "Pages and databases of a workspace, with search.", "notion.com"},
	}
}

func tileNames() []string {
	return []string{"GitHub", "Linear", "Notion", "Jira", "Slack", "Google Drive", "context7", "Sentry", "Stripe", "文書", "x", ""}
}

// dot is a small picture.
const dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mPgzgsjCTGMahjVMHw1AADClM8B9FFdFgAAAABJRU5ErkJggg=="

const schema = `{
  "type": "object",
  "required": ["title"],
  "properties": {
    "title": {"type": "string", "description": "What the issue is about.", "minLength": 1, "maxLength": 256},
    "state": {"type": "string", "enum": ["open", "closed"], "default": "open"},
    "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
    "author": {"type": "object", "description": "Who opens it.", "required": ["login"], "properties": {"login": {"type": "string"}, "id": {"type": ["integer", "null"], "minimum": 1}}},
    "any": {"anyOf": [{"type": "string"}, {"type": "number"}]}
  }
}`
