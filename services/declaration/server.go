package declaration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/clientfile"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/wire"
)

// Server is the desired state of one upstream server. Secrets are cleartext or
// `${NAME}` references here; "" clears the stored one.
type Server struct {
	URL               *string
	Transport         *models.Transport
	AuthType          *models.AuthType
	AuthBearer        *string
	Headers           map[string]string
	AllowedTools      *[]string
	DenyTools         *[]string
	ToolOverrides     *models.ToolOverrides
	Enabled           *bool
	TimeoutMS         *int64
	MaxConcurrent     *int64
	SessionMode       *models.SessionMode
	DefinitionPolicy  *models.DefinitionPolicy
	ProtocolVersion   *string // models.ProtocolAuto or a revision
	TaskTimeoutMS     *int64
	ResultLimit       *int64 // bytes of text, 0 for unlimited, or ProjectResultLimit
	OAuthClientID     *string
	OAuthClientSecret *string
	OAuthScopes       *[]string
	OAuthGrant        *models.OAuthGrantType
	OAuthClientAuth   *models.ClientAuth
	OAuthPrivateKey   *string
	OAuthKeyID        *string
	OAuthTokenURL     *string
	OAuthAudience     *string
	ForwardHeaders    map[string]string
	TLSAuthority      *string
	TLSCert           *string
	TLSKey            *string
	Personal

	// Program is set for a server that a runner starts. Only the operator's file
	// sets it.
	Program bool
	// MissingHeaders are required headers without a value yet. No file or
	// request can set them.
	MissingHeaders []string
}

// Check returns the declaration without invalid values, and the problems by
// path.
func (d *Server) Check() (*Server, map[string]string) {
	r, checked := newReader(), *d
	r.serverFields(&checked).check("")
	return &checked, r.problems
}

// JSON returns the declaration with its secrets in the form that ParseServer
// accepts. It doesn't contain MissingHeaders.
func (d *Server) JSON() []byte {
	b, _ := json.Marshal(newReader().serverFields(d).values()) // strings, booleans and integers always marshal
	return b
}

func (r *reader) server(path string, raw []byte) *Server {
	d := &Server{}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	switch {
	case err != nil:
		r.problem(path, "use an object")
	case o.Get("command") == nil:
		r.remote(path, o, r.serverFields(d))
	case len(r.programs) == 0:
		r.problem(Join(path, "command"), clientfile.CommandsFromFile)
	default:
		d.Program = true
		r.members(path, o, r.programFields(d))
	}
	return d
}

// remote parses a server with a URL.
func (r *reader) remote(path string, o *rawjson.Object, known fields) {
	rest := o.Clone()
	for name, value := range o.All() {
		if slices.Contains(clientfile.CommandKeys(), name) || name == "type" && clientfile.IsStdio(name, value) {
			r.problem(Join(path, name), r.noCommand(clientfile.CommandsFromFile))
			rest.Delete(name)
		}
	}
	r.members(path, &rest, known)
}

// serverFields returns the keys of a server.
func (r *reader) serverFields(d *Server) fields {
	known := fields{
		"url":              r.text(&d.URL, MaxURL),
		"transport":        r.transport(&d.Transport),
		"authType":         oneOf(r, &d.AuthType, models.UpstreamAuthNone, models.UpstreamAuthBearer, models.UpstreamAuthOAuth),
		"authBearer":       r.text(&d.AuthBearer, MaxHeaderValue),
		"headers":          r.headers(&d.Headers),
		"allowedTools":     r.strings(&d.AllowedTools, MaxPatterns, MaxPattern),
		"denyTools":        r.strings(&d.DenyTools, MaxPatterns, MaxPattern),
		"tools":            r.toolOverrides(&d.ToolOverrides),
		"enabled":          r.boolean(&d.Enabled),
		"timeout":          r.milliseconds(&d.TimeoutMS, MinTimeoutMS, MaxTimeoutMS),
		"maxConcurrent":    r.integer(&d.MaxConcurrent, MinConcurrent, MaxConcurrent),
		"sessionMode":      oneOf(r, &d.SessionMode, models.SessionShared, models.SessionPerClient),
		"definitionPolicy": oneOf(r, &d.DefinitionPolicy, models.PolicyFollow, models.PolicyApprove),
		"protocolVersion":  oneOf(r, &d.ProtocolVersion, append([]string{models.ProtocolAuto}, wire.Revisions()...)...),
		"taskTimeout":      r.milliseconds(&d.TaskTimeoutMS, MinTaskTimeoutMS, MaxTaskTimeoutMS),
		"resultLimit":      r.serverResultLimit(&d.ResultLimit),
		"oauth": r.group(fields{
			"clientId":     r.text(&d.OAuthClientID, MaxURL),
			"clientSecret": r.text(&d.OAuthClientSecret, MaxHeaderValue),
			"scopes":       r.strings(&d.OAuthScopes, MaxScopes, MaxPattern),
			"grant":        r.grant(&d.OAuthGrant),
			"authMethod":   oneOf(r, &d.OAuthClientAuth, models.ClientSecretBasic, models.ClientSecretPost, models.PrivateKeyJWT),
			"privateKey":   r.text(&d.OAuthPrivateKey, MaxPEM),
			"keyId":        r.text(&d.OAuthKeyID, MaxPattern),
			"tokenUrl":     r.text(&d.OAuthTokenURL, MaxURL),
			"audience":     r.text(&d.OAuthAudience, MaxURL),
		}),
		"forwardHeaders": r.forwarded(&d.ForwardHeaders),
		"tls": r.group(fields{
			"ca":   r.text(&d.TLSAuthority, MaxPEM),
			"cert": r.text(&d.TLSCert, MaxPEM),
			"key":  r.text(&d.TLSKey, MaxPEM),
		}),
	}
	maps.Copy(known, r.personalFields(&d.Personal))
	return known
}

// transport returns the field of a transport. The transports of programs are
// refused with TransportFromFile.
func (r *reader) transport(dst **models.Transport) field {
	f := oneOf(r, dst, models.TransportAuto, models.TransportStreamableHTTP, models.TransportSSE)
	refused := func(t models.Transport) bool { return t == models.TransportStdio || t == models.TransportConnector }
	return field{
		read: func(path string, raw []byte) {
			if text, _ := rawjson.String(raw); refused(models.Transport(text)) {
				r.problem(path, clientfile.TransportFromFile)
				return
			}
			f.read(path, raw)
		},
		check: func(path string) {
			if *dst != nil && refused(**dst) {
				r.problem(path, clientfile.TransportFromFile)
				*dst = nil
				return
			}
			f.check(path)
		},
		value: f.value,
	}
}

// grantCode is the declared name of models.GrantCode.
const grantCode models.OAuthGrantType = "authorization_code"

// grant returns the field of a grant. The stored form of authorization_code is
// empty.
func (r *reader) grant(dst **models.OAuthGrantType) field {
	f := oneOf(r, dst, grantCode, models.GrantClientCredentials)
	stored := func() {
		if *dst != nil && **dst == grantCode {
			*dst = new(models.GrantCode)
		}
	}
	return field{
		read: func(path string, raw []byte) { f.read(path, raw); stored() },
		check: func(path string) {
			if *dst == nil || **dst != models.GrantCode {
				f.check(path)
				stored()
			}
		},
		value: func() any {
			if *dst != nil && **dst == models.GrantCode {
				return grantCode
			}
			return f.value()
		},
	}
}

// forwarded returns the field of forwarded headers. An array of names means the same
// names.
func (r *reader) forwarded(dst *map[string]string) field {
	object := r.headers(dst)
	return field{check: object.check, value: object.value, read: func(path string, raw []byte) {
		if rawjson.Kind(raw) != '[' {
			object.read(path, raw)
			return
		}
		items, err := rawjson.Elements(raw, rawjson.Strict)
		if err != nil {
			r.problem(path, "use an object or an array of strings")
			return
		}
		names := make(map[string]string, len(items))
		for i, item := range items {
			name, ok := rawjson.String(item)
			if _, twice := names[name]; !ok || twice {
				r.problem(fmt.Sprintf("%s[%d]", path, i), "use a header name, once")
				return
			}
			names[name] = ""
		}
		*dst = names
		object.check(path)
	}}
}
