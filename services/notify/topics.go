package notify

import "strings"

const (
	toolsetPrefix = "toolset:"
	keysPrefix    = "keys:"
	sessionsTopic = "sessions"
	catalogTopic  = "catalog"
	iconsTopic    = "catalog-icons"
	alertsTopic   = "alerts"

	embeddingsTopic = "embeddings"

	sessionLevelsTopic     = "session-levels"
	learnedRevisionsTopic  = "learned-revisions"
	sessionResourcesPrefix = "session-resources:"
	peopleTopic            = "people"
	grantsPrefix           = "grants:"
	accessPrefix           = "access:"
	connectionPrefix       = "connection:"
	connectorsPrefix       = "connectors:"
)

// Toolset returns the topic of a project's tools: its settings, servers,
// inventories and tools.
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

// Sessions returns the topic of ended client sessions.
func Sessions() Topic { return sessionsTopic }

// IsSessions reports whether t is the topic that Sessions returns.
func (t Topic) IsSessions() bool { return t == sessionsTopic }

// SessionLevels returns the topic of the log levels that clients set for their
// sessions.
func SessionLevels() Topic { return sessionLevelsTopic }

// IsSessionLevels reports whether t is the topic that SessionLevels returns.
func (t Topic) IsSessionLevels() bool { return t == sessionLevelsTopic }

// LearnedRevisions returns the topic of the protocol revisions that failed calls
// showed to be right at servers.
func LearnedRevisions() Topic { return learnedRevisionsTopic }

// IsLearnedRevisions reports whether t is the topic that LearnedRevisions returns.
func (t Topic) IsLearnedRevisions() bool { return t == learnedRevisionsTopic }

// SessionResources returns the topic of a session's resource subscriptions.
// Sessions share topics by the prefix of their key, so there are few.
func SessionResources(session string) Topic {
	return Topic(sessionResourcesPrefix + session[:min(2, len(session))])
}

// HasResourcesOf reports whether t is the topic that SessionResources returns
// for the session.
func (t Topic) HasResourcesOf(session string) bool { return t == SessionResources(session) }

// IsSessionResources reports whether SessionResources returns t for any session.
func (t Topic) IsSessionResources() bool { return strings.HasPrefix(string(t), sessionResourcesPrefix) }

// Catalog returns the topic of the public catalog.
func Catalog() Topic { return catalogTopic }

// IsCatalog reports whether t is the topic that Catalog returns.
func (t Topic) IsCatalog() bool { return t == catalogTopic }

// CatalogIcons returns the topic of the stored icons of the catalog.
func CatalogIcons() Topic { return iconsTopic }

// IsCatalogIcons reports whether t is the topic that CatalogIcons returns.
func (t Topic) IsCatalogIcons() bool { return t == iconsTopic }

// Embeddings returns the topic of the stored vectors of tools.
func Embeddings() Topic { return embeddingsTopic }

// IsEmbeddings reports whether t is the topic that Embeddings returns.
func (t Topic) IsEmbeddings() bool { return t == embeddingsTopic }

// People returns the topic of users and their roles.
func People() Topic { return peopleTopic }

// IsPeople reports whether t is the topic that People returns.
func (t Topic) IsPeople() bool { return t == peopleTopic }

// Connection returns the topic of a server's OAuth connection.
func Connection(serverID string) Topic { return Topic(connectionPrefix + serverID) }

// PersonalConnection returns the topic of a user's connection to a server.
func PersonalConnection(serverID, userID string) Topic {
	return Topic(connectionPrefix + serverID + "/" + userID)
}

// ConnectionOf returns the server of a connection topic and the user of a
// personal one; ok is false for other topics.
func (t Topic) ConnectionOf() (serverID, userID string, ok bool) {
	rest, ok := strings.CutPrefix(string(t), connectionPrefix)
	serverID, userID, _ = strings.Cut(rest, "/")
	return serverID, userID, ok
}

// Grants returns the topic of the OAuth grants in a project.
func Grants(projectID string) Topic { return Topic(grantsPrefix + projectID) }

// GrantsOf returns the project of a grants topic; ok is false for others.
func (t Topic) GrantsOf() (projectID string, ok bool) {
	return strings.CutPrefix(string(t), grantsPrefix)
}

// Access returns the topic of the members and grants of a project.
func Access(projectID string) Topic { return Topic(accessPrefix + projectID) }

// AccessOf returns the project of an access topic; ok is false for others.
func (t Topic) AccessOf() (projectID string, ok bool) {
	return strings.CutPrefix(string(t), accessPrefix)
}

// Connectors returns the topic of the connectors of a project.
func Connectors(projectID string) Topic { return Topic(connectorsPrefix + projectID) }

// ConnectorsOf returns the project of a connectors topic; ok is false for others.
func (t Topic) ConnectorsOf() (projectID string, ok bool) {
	return strings.CutPrefix(string(t), connectorsPrefix)
}

// Alerts returns the topic of alerts that fire or are resolved.
func Alerts() Topic { return alertsTopic }

// IsAlerts reports whether t is the topic that Alerts returns.
func (t Topic) IsAlerts() bool { return t == alertsTopic }
