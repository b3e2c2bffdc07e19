package clientfile

import (
	"maps"
	"slices"

	"mcpgateway/services/rawjson"
)

// Problems of programs where only servers with a URL can be added.
const (
	CommandsFromFile  = `commands are taken only from a file: save this entry and run "gateway serve --local FILE"`
	TransportFromFile = "servers of this transport come from their runner's file"
)

// sameMeaning maps clients' keys to the gateway's keys with the same values.
var sameMeaning = map[string]string{
	"serverUrl": "url", "httpUrl": "url", // Windsurf; Gemini CLI
	"disabledTools": "denyTools", "excludeTools": "denyTools", // Windsurf, Roo Code; Gemini CLI
	"includeTools": "allowedTools", "tools": "allowedTools", // Gemini CLI; GitHub Copilot
}

// transportKeys contain a transport in one of several spellings.
var transportKeys = []string{"type", "transport", "transportType"}

// transports are the clients' names of transports. opencode's "remote" allows
// any.
var transports = map[string]string{
	"http": "streamable-http", "streamable-http": "streamable-http", "streamableHttp": "streamable-http", "streamable_http": "streamable-http",
	"sse": "sse", "auto": "auto", "remote": "auto",
}

// local are the keys of commands.
var local = []string{"command", "args", "env", "envFile", "cwd"}

// CommandKeys returns the keys of commands, which are refused with
// CommandsFromFile.
func CommandKeys() []string { return slices.Clone(local) }

// IsStdio reports whether a key with the value marks the server as a program.
func IsStdio(key string, value []byte) bool {
	word, _ := rawjson.String(value)
	return slices.Contains(transportKeys, key) && (word == "stdio" || key == "type" && word == "local") // opencode writes local
}

// clientOnly are keys that only affect the client, such as display and tool
// confirmation. They don't change the exposed tools.
var clientOnly = []string{
	"$comment", "_comment", "alwaysAllow", "alwaysLoad", "autoApprove", "comment", "description", "dev", "gallery", "icon", "iconUrl", "logoUrl",
	"name", "note", "notes", "provider", "source", "tags", "title", "trust", "version",
}

// refused are known but unsupported keys, with advice.
var refused = map[string]string{
	"authProviderType":     "this authentication is not supported: remove it and use authType",
	"baseUrl":              "unknown key: did you mean url?",
	"headersHelper":        "commands for headers are not supported: put them into headers",
	"isActive":             "unknown key: use enabled",
	"requestOptions":       "unknown key: put its headers into headers, and its timeout in milliseconds into timeout",
	"targetAudience":       "this authentication is not supported: remove it and use authType",
	"targetServiceAccount": "this authentication is not supported: remove it and use authType",
}

// oauthKeys maps clients' keys in oauth to the gateway's. Keys that only affect
// the client's callback are ignored.
var (
	oauthKeys = map[string]string{
		"clientId": "clientId", "client_id": "clientId", "CLIENT_ID": "clientId",
		"clientSecret": "clientSecret", "client_secret": "clientSecret", "CLIENT_SECRET": "clientSecret",
		"scopes": "scopes", "scope": "scopes",
	}
	oauthClientOnly = []string{"callbackPort", "redirectUri"}
)

// Keys returns the clients' keys that Translate supports.
func Keys() []string {
	return slices.Concat(slices.Sorted(maps.Keys(sameMeaning)), transportKeys, clientOnly, []string{"disabled"})
}
