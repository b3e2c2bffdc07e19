package clientfile

import (
	"maps"
	"slices"
)

// NotRunHere is the problem of an entry that is a command.
const NotRunHere = "commands are not started here: run the server over HTTP and add its URL"

// sameMeaning are clients' names of the gateway's own keys, with the same
// values.
var sameMeaning = map[string]string{
	"serverUrl": "url", "httpUrl": "url", // Windsurf; Gemini CLI
	"disabledTools": "denyTools", "excludeTools": "denyTools", // Windsurf, Roo Code; Gemini CLI
	"includeTools": "allowedTools", "tools": "allowedTools", // Gemini CLI; GitHub Copilot
}

// transportKeys hold a transport in one of several spellings.
var transportKeys = []string{"type", "transport", "transportType"}

// transports are the clients' names of transports. opencode's "remote" leaves
// the choice open.
var transports = map[string]string{
	"http": "streamable-http", "streamable-http": "streamable-http", "streamableHttp": "streamable-http", "streamable_http": "streamable-http",
	"sse": "sse", "auto": "auto", "remote": "auto",
}

// local are the keys of commands.
var local = []string{"command", "args", "env", "envFile", "cwd"}

// clientOnly are keys that only concern the client: how it shows the server,
// and which tools it calls without a question. They do not change what the
// server offers.
var clientOnly = []string{
	"$comment", "_comment", "alwaysAllow", "alwaysLoad", "autoApprove", "comment", "description", "dev", "gallery", "icon", "iconUrl", "logoUrl",
	"name", "note", "notes", "provider", "source", "tags", "title", "trust", "version",
}

// refused are known keys that cannot be accepted, with the advice.
var refused = map[string]string{
	"authProviderType":     "the gateway has no sign-in of this kind: leave it out and use authType",
	"baseUrl":              "this key is unknown: did you mean url?",
	"headersHelper":        "the gateway runs no command for headers: put them into headers",
	"isActive":             "this key is unknown: use enabled",
	"requestOptions":       "this key is unknown: put its headers into headers, and the timeout in milliseconds into timeout",
	"targetAudience":       "the gateway has no sign-in of this kind: leave it out and use authType",
	"targetServiceAccount": "the gateway has no sign-in of this kind: leave it out and use authType",
}

// oauthKeys are clients' names of the gateway's keys in oauth; those that
// concern only the client's own callback have no meaning here.
var (
	oauthKeys = map[string]string{
		"clientId": "clientId", "client_id": "clientId", "CLIENT_ID": "clientId",
		"clientSecret": "clientSecret", "client_secret": "clientSecret", "CLIENT_SECRET": "clientSecret",
		"scopes": "scopes", "scope": "scopes",
	}
	oauthClientOnly = []string{"callbackPort", "redirectUri"}
)

// Keys returns the clients' own names of keys that Translate understands.
func Keys() []string {
	return slices.Concat(slices.Sorted(maps.Keys(sameMeaning)), transportKeys, clientOnly, []string{"disabled"})
}
