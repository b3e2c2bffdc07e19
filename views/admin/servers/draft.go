package servers

import (
	"strings"

	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
)

// CheckProps describe the second step of adding servers: their credentials and the
// tests of their connections.
type CheckProps struct {
	layout.Frame
	Slug     string
	Source   string // where the servers come from, such as "your JSON"
	Note     string // ignored keys of the pasted text
	Error    string // that concerns no single server
	Failed   bool   // none of the servers was added
	Drafts   []Draft
	AddedIDs []string // servers that were added before

	Anyway          bool   // unreachable servers are added, turned off
	Endpoint        string // URL of the gateway, for runners
	Open            bool   // the project requires no authentication
	Understood      bool   // sharing credentials was confirmed
	UnderstoodError string
}

// Draft is a server that is being added. Sealed is its declaration so far,
// encrypted because it may contain secrets.
type Draft struct {
	Number                          string // of the row, from 0
	Alias, URL, Transport, AuthType string
	HeaderName                      string
	HasSecret                       bool     // the token or the header's value is in Sealed
	SecretEnd                       string   // the last characters of a long secret, or its reference
	SecretHint                      string   // name that the provider gives the secret; may be empty
	Headers                         []string // names of other headers in Sealed
	Sealed                          string
	Notes                           []string
	Problems                        map[string]string
	Settings                        []string // declared settings without a field in the form
	Refused                         []string // why it can't be added; may be empty
	Command                         string   // program of a server that runs on a computer; may be empty
	LocalFile                       string   // entry of a runner's file, right after it was pasted; may be empty
	LocalEnv                        []string // variables that LocalFile refers to
	Skip                            bool
	Open                            bool   // its details are unfolded
	Hint                            string // about its credentials, from the catalog
	Test                            Test
}

// Test is the outcome of a connection test.
type Test struct {
	Done    bool
	OK      bool
	Tools   int
	Took    string
	Off     bool           // it is added turned off, without a test
	SignIn  bool           // it needs a sign-in after it was added
	NoToken bool           // it needs a token after it was added
	Failure *admin.Failure // nil without one
}

// Tone returns the tone of the outcome.
func (t Test) tone() ui.Tone {
	switch {
	case t.OK:
		return ui.OK
	case t.SignIn || t.NoToken:
		return ui.Warn
	case t.Failure != nil:
		return ui.Bad
	}
	return ui.Neutral
}

// word returns the outcome in words.
func (t Test) word() string {
	switch {
	case t.OK:
		return ui.Plural(t.Tools, "tool", "tools") + " · " + t.Took
	case t.SignIn:
		return "Sign-in needed after adding"
	case t.NoToken:
		return "Token missing"
	case t.Off:
		return "Added turned off"
	case t.Failure != nil:
		return t.Failure.Title
	}
	return "Not tested yet"
}

// advice returns what to do about the outcome; may be empty.
func (d Draft) advice() string {
	switch {
	case d.Test.SignIn:
		return "You'll sign in at " + admin.Provider(d.URL) + " after adding."
	case d.Test.NoToken:
		return "Add the token this server needs, here or after adding."
	case d.Test.Failure != nil && d.Test.Failure.Advice == "":
		return d.Test.Failure.Detail
	case d.Test.Failure != nil:
		return d.Test.Failure.Advice
	}
	return ""
}

// id returns the id of an element of the row.
func (d Draft) id(name string) string { return "s" + d.Number + "-" + name }

// name returns the name of a field of the row.
func (d Draft) name(name string) string { return d.Number + "." + name }

// called returns the alias, or the number of a server without one.
func (d Draft) called() string {
	if alias := ui.Clean(d.Alias); alias != "" {
		return alias
	}
	return "server " + d.Number
}

// unfolded reports whether the details show.
func (d Draft) unfolded() bool {
	return d.Open || len(d.Problems) > 0 || d.Test.Failure != nil && !d.Test.SignIn && !d.Test.NoToken
}

// untested reports whether the script tests the connection when the page opens.
func (d Draft) untested() bool {
	return !d.Test.Done && !d.Skip && len(d.Problems) == 0 && len(d.Refused) == 0
}

// credentials returns the label and the icon of the credentials.
func (d Draft) credentials() (label, icon, tone string) {
	switch d.AuthType {
	case "bearer":
		return "Bearer " + d.secret(), "key-round", "line"
	case "header":
		name := ui.Clean(d.HeaderName)
		if name == "" {
			name = "Header"
		}
		return name + " " + d.secret(), "key-round", "line"
	case "oauth":
		return "OAuth", "shield-check", "info"
	}
	return "None", "lock-open", "line"
}

// secret returns what pages show of the secret.
func (d Draft) secret() string {
	switch {
	case !d.HasSecret:
		return "missing"
	case strings.HasPrefix(d.SecretEnd, "${"):
		return ui.Clean(d.SecretEnd)
	}
	return "••••" + ui.Clean(d.SecretEnd)
}

func (d Draft) secretHint() string {
	hint := "Or an environment variable: ${GITHUB_TOKEN}."
	if d.HasSecret {
		hint += " Leave empty to keep the pasted one."
	}
	return hint
}

// placeholder returns the placeholder of the field for the secret.
func (d Draft) placeholder() string {
	switch {
	case d.HasSecret:
		return d.secret()
	case d.SecretHint != "":
		return ui.Clean(d.SecretHint)
	}
	return ""
}

// local reports whether the server runs as a program.
func (d Draft) local() bool { return d.Command != "" }

// addable returns the number of servers that can be added, and of those that run on
// a computer.
func (p CheckProps) addable() (servers, local int) {
	for _, d := range p.Drafts {
		switch {
		case d.local():
			local++
		case len(d.Refused) == 0:
			servers++
		}
	}
	return servers, local
}

func (p CheckProps) label() string {
	n, _ := p.addable()
	if n == 1 {
		return "Add server"
	}
	return "Add " + ui.Count(n) + " servers"
}

func (p CheckProps) sub() string {
	servers, local := p.addable()
	switch {
	case local == 0:
		return ""
	case servers > 0:
		return ui.Plural(local, "more runs on a computer", "more run on a computer")
	}
	return ui.Plural(local, "server runs on a computer", "servers run on a computer")
}

// local returns a server that runs on a computer. The setup of the only server is
// unfolded.
func (p CheckProps) local(d Draft) Draft {
	d.Open = d.Open || len(p.Drafts) == 1
	return d
}

func (p CheckProps) source() string {
	if p.Source == "" {
		return "Servers"
	}
	return "From " + p.Source
}

func (p CheckProps) title() string {
	if n, _ := p.addable(); n == 0 {
		return "Add servers"
	}
	return p.label()
}
