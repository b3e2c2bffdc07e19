package admin

import (
	"net"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpgateway/views/ui"
)

// Fix is the action that repairs a failed server.
type Fix string

// The fixes. For some failures only a retry helps.
const (
	FixRetry     Fix = "retry"
	FixURL       Fix = "url"
	FixToken     Fix = "token"
	FixConnect   Fix = "connect"
	FixReconnect Fix = "reconnect"
	FixNone      Fix = "none" // nothing on these pages repairs it
)

// FailedServer is a server and why requests to it fail.
type FailedServer struct {
	Reason         string // upstream.Reason
	Message        string // of the error, for administrators
	URL            string
	OAuth          bool
	HasCredentials bool // a token or a header is stored
}

// Failure is a failure in words.
type Failure struct {
	Title  string // such as "Connection refused"
	Advice string // what to check, as sentences; may be empty
	Fix    Fix
	// Reached reports whether the server responded.
	Reached bool
	Detail  string // the error itself, as a sentence
}

// FailureOf returns the words for a failure.
func FailureOf(s FailedServer) Failure {
	kind, parameter, _ := strings.Cut(s.Reason, ":")
	f := words(s, kind, ui.Clean(parameter))
	f.Detail = sentence(s.Message)
	if f.Title == "" {
		f.Title, f.Advice, f.Fix = "Request failed", f.Detail, FixRetry
	}
	return f
}

// words returns the words for a kind of failures, which may have a parameter.
func words(s FailedServer, kind, parameter string) Failure {
	switch kind {
	case "refused":
		return Failure{Title: "Connection refused", Advice: "Nothing listens on " + endpoint(s.URL) + ". Is the server running, and is the port right?", Fix: FixURL}
	case "host":
		return Failure{Title: "Host not found", Advice: "Check " + host(s.URL) + " for typos.", Fix: FixURL}
	case "timeout":
		return Failure{Title: timedOut(parameter), Advice: "The server accepted the connection but didn't respond.", Fix: FixRetry}
	case "no-connection":
		return Failure{Title: "No connection in time", Advice: endpoint(s.URL) + " didn't accept the connection. Is the host right, and does a firewall allow it?", Fix: FixURL}
	case "certificate":
		if strings.Contains(parameter, "first record does not look like a TLS handshake") {
			return Failure{Title: "No TLS at this address", Advice: endpoint(s.URL) + " doesn't speak https. If the server speaks http, use http://.", Fix: FixURL}
		}
		return Failure{Title: "Certificate not trusted", Advice: sentence(strings.TrimPrefix(parameter, "tls: failed to verify certificate: x509: ")), Fix: FixURL}
	case "blocked":
		return Failure{Title: "Private address blocked", Advice: "Allow it with GATEWAY_EGRESS_ALLOW.", Fix: FixURL}
	case "closed":
		return Failure{Title: "Connection lost", Advice: sentence(parameter), Fix: FixRetry}
	case "redirect":
		return Failure{Title: "Redirected to another URL", Advice: "Redirects aren't followed. If you trust the new URL, enter it here.", Fix: FixURL, Reached: true}
	case "no-endpoint":
		return Failure{Title: "No MCP server at this URL", Advice: "Check the path; many servers use /mcp.", Fix: FixURL, Reached: true}
	case "http":
		return Failure{Title: "HTTP " + parameter + " from the server", Fix: FixRetry, Reached: true}
	case "not-mcp":
		return Failure{Title: "Not an MCP server", Advice: "It responded, but not with MCP.", Fix: FixURL, Reached: true}
	}
	return accessWords(s, kind)
}

// accessWords returns the words for a failure that concerns the credentials.
func accessWords(s FailedServer, kind string) Failure {
	switch kind {
	case "forbidden":
		return Failure{Title: "Access denied", Advice: "The account or token may not use this server.", Fix: FixToken, Reached: true}
	case "sign-in":
		if s.OAuth {
			return Failure{Title: "Sign-in needed", Advice: "Reconnect to sign in again.", Fix: FixReconnect, Reached: true}
		}
		return Failure{Title: "Sign-in needed", Advice: "This server uses OAuth. Choose it under Credentials, then sign in at " + Provider(s.URL) + ".", Fix: FixToken, Reached: true}
	case "credentials":
		if s.OAuth {
			return Failure{Title: "Token rejected", Advice: "Reconnect to sign in again.", Fix: FixReconnect, Reached: true}
		}
		if s.HasCredentials {
			return Failure{Title: "Token rejected", Advice: "Check that the token is complete and hasn't expired.", Fix: FixToken, Reached: true}
		}
		return Failure{Title: "Token missing", Advice: "Add the token this server needs.", Fix: FixToken, Reached: true}
	case "no-token":
		return Failure{Title: "Token missing", Advice: "Add the token this server needs.", Fix: FixToken}
	case "not-connected":
		return Failure{Title: "Not connected", Advice: "Sign in at " + Provider(s.URL) + " so that we can read its tools.", Fix: FixConnect}
	case "revoked":
		return Failure{Title: "Access was revoked", Advice: "Reconnect to sign in again.", Fix: FixReconnect, Reached: true}
	}
	return Failure{}
}

// Sentence returns the first sentence of an error box.
func (f Failure) Sentence() string {
	if f.Reached {
		return "This server doesn't work: " + inSentence(f.Title) + "."
	}
	return "We can't reach this server: " + inSentence(f.Title) + "."
}

// inSentence returns a title for the middle of a sentence. Abbreviations keep their
// capitals.
func inSentence(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if second, _ := utf8.DecodeRuneInString(s[n:]); unicode.IsUpper(second) {
		return s
	}
	return string(unicode.ToLower(first)) + s[n:]
}

func timedOut(after string) string {
	if after == "" {
		return "Timed out"
	}
	return "Timed out after " + strings.TrimSuffix(after, "s") + " s"
}

// endpoint returns the host and port of a URL.
func endpoint(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "its address"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return ui.Clean(net.JoinHostPort(u.Hostname(), port))
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "the host"
	}
	return ui.Clean(u.Hostname())
}

// Provider returns the site of a server's provider: its host without the first
// label if that only names the service.
func Provider(address string) string {
	name := host(address)
	for _, label := range []string{"mcp.", "api.", "www."} {
		if rest, found := strings.CutPrefix(name, label); found && strings.Contains(rest, ".") {
			return rest
		}
	}
	return name
}
