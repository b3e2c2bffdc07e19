package notify

import "strings"

const (
	toolsetPrefix = "toolset:"
	keysPrefix    = "keys:"
	sessionsTopic = "sessions"
)

// Toolset returns the topic of everything a project's tools depend on: its
// settings, servers, inventories and tools.
func Toolset(projectID string) Topic { return Topic(toolsetPrefix + projectID) }

// Keys returns the topic of a project's API keys.
func Keys(projectID string) Topic { return Topic(keysPrefix + projectID) }

// ToolsetOf returns the project of a toolset topic; ok is false for others.
func (t Topic) ToolsetOf() (projectID string, ok bool) {
	return strings.CutPrefix(string(t), toolsetPrefix)
}

// KeysOf returns the project of a keys topic; ok is false for others.
func (t Topic) KeysOf() (projectID string, ok bool) {
	return strings.CutPrefix(string(t), keysPrefix)
}

// Sessions returns the topic of the client sessions that were ended.
func Sessions() Topic { return sessionsTopic }

// IsSessions reports whether t is the topic that Sessions returns.
func (t Topic) IsSessions() bool { return t == sessionsTopic }
