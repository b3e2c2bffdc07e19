package projects

import (
	"bytes"
	"fmt"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/clientfile"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Declaration is the declarative file: the wished state of the projects it
// names. A nil field was absent and leaves the stored value as it is. Notes
// name the ignored keys of a client's configuration. Refused holds the problems
// of its servers that were left out, by path.
type Declaration struct {
	Projects map[string]*ProjectDeclaration
	Notes    []string
	Refused  map[string]string
	Client   *Pasted // what it was read from; nil for the gateway's own form
}

// ProjectDeclaration is the wished state of one project.
type ProjectDeclaration struct {
	Name, Description *string
	AuthMode          *models.AuthMode
	OAuthAccess       *models.OAuthAccess
	CodeModeEnabled   *bool
	CodeModeTimeoutMS *int64
	CodeModeFetch     *bool
	ToolExposure      *models.ToolExposure
	ToolNameLimit     *int64
	DisabledTools     *[]string
	RatePerSecond     *float64
	RateBurst         *int64
	RecordPayloads    *bool
	Servers           map[string]*ServerDeclaration // by alias
}

// ServerDeclaration is the wished state of one upstream server. Secrets are
// plain text or `${NAME}` references here; "" clears the stored one.
type ServerDeclaration struct {
	URL               *string
	Transport         *models.Transport
	AuthType          *models.AuthType
	AuthBearer        *string
	Headers           map[string]string
	AllowedTools      *[]string
	DenyTools         *[]string
	Enabled           *bool
	TimeoutMS         *int64
	MaxConcurrent     *int64
	SessionMode       *models.SessionMode
	DefinitionPolicy  *models.DefinitionPolicy
	OAuthClientID     *string
	OAuthClientSecret *string
	OAuthScopes       *[]string

	// MissingHeaders are headers that the server requires and whose values
	// follow later. No file and no request can name them.
	MissingHeaders []string
}

// bareProject is the project that a bare mcpServers file describes.
const bareProject = "default"

// ParseDeclaration reads a declarative file, or a client's configuration, which
// becomes the project "default". It reports all mistakes at once as
// VALIDATION_FAILED, each under its path.
func ParseDeclaration(raw []byte) (*Declaration, error) {
	d, err := ParseImport(raw)
	if err == nil && len(d.Refused) > 0 {
		return nil, fault.Validation(d.Refused)
	}
	return d, err
}

// ParseImport is ParseDeclaration that leaves the servers of a client's
// configuration with problems out and records them in Refused, as long as one
// has none.
func ParseImport(raw []byte) (*Declaration, error) {
	if len(raw) > MaxDeclarationSize {
		return nil, fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "the declaration is larger than %d bytes", MaxDeclarationSize)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff")) // some editors put a byte-order mark before the text (RFC 8259, section 8.1)
	if err := rawjson.CheckDepth(raw, maxDepth); err != nil {
		return nil, fault.Validation(map[string]string{"(file)": err.Error()})
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	switch {
	case err == nil && o.Get("projects") != nil:
		return parseProjects(o)
	case err == nil && o.Len() == 0:
		return nil, fault.Validation(map[string]string{"projects": "this key is missing: a declaration holds either projects or mcpServers"})
	}
	pasted, problems, err := readPasted(string(raw))
	switch {
	case err != nil:
		return nil, fault.Validation(map[string]string{"(file)": "this is not a JSON object with projects or mcpServers: " + err.Error()})
	case len(problems) > 0:
		return nil, fault.Validation(problems)
	}
	return pasted.declaration()
}

// declaration returns the project "default" with the servers that have no
// problems, and VALIDATION_FAILED when none is left.
func (p *Pasted) declaration() (*Declaration, error) {
	project := &ProjectDeclaration{Servers: map[string]*ServerDeclaration{}}
	d := &Declaration{Projects: map[string]*ProjectDeclaration{bareProject: project}, Notes: slices.Clone(p.Notes), Refused: p.Refusals(), Client: p}
	for _, s := range p.Servers {
		for _, note := range s.Notes {
			d.Notes = append(d.Notes, s.Alias+": "+note)
		}
		if len(s.Problems) == 0 {
			project.Servers[s.Alias] = s.Declaration
		}
	}
	if len(project.Servers) == 0 {
		return nil, fault.Validation(d.Refused)
	}
	return d, nil
}

func parseProjects(o *rawjson.Object) (*Declaration, error) {
	r := &reader{problems: map[string]string{}}
	d := &Declaration{Projects: map[string]*ProjectDeclaration{}}
	r.fields("", o, fieldReaders{
		"projects": func(path string, v []byte) {
			r.each(path, v, func(slug, path string, v []byte) {
				if why := checkSlug(slug); why != "" {
					r.problem(path, why)
				}
				d.Projects[slug] = r.project(path, v)
			})
		},
		"mcpServers": func(path string, _ []byte) {
			r.problem(path, "a declaration holds either projects or mcpServers: leave one of them out")
		},
	})
	if len(r.problems) > 0 {
		return nil, fault.Validation(r.problems)
	}
	return d, nil
}

func (r *reader) project(path string, raw []byte) *ProjectDeclaration {
	p := &ProjectDeclaration{}
	r.object(path, raw, r.projectFields(p))
	return p
}

// projectFields returns the readers of the keys of a project.
func (r *reader) projectFields(p *ProjectDeclaration) fieldReaders {
	p.Servers = map[string]*ServerDeclaration{}
	return fieldReaders{
		"name":        r.text(&p.Name, MaxName),
		"description": r.text(&p.Description, MaxDescription),
		"authMode":    oneOf(r, &p.AuthMode, models.AuthNone, models.AuthAPIKey, models.AuthOAuth),
		"oauthAccess": oneOf(r, &p.OAuthAccess, models.OAuthAnyone, models.OAuthMembers),
		"codeMode": func(path string, v []byte) {
			r.object(path, v, fieldReaders{
				"enabled":    r.boolean(&p.CodeModeEnabled),
				"timeout":    r.milliseconds(&p.CodeModeTimeoutMS, MinRunTimeoutMS, MaxRunTimeoutMS),
				"allowFetch": r.boolean(&p.CodeModeFetch),
			})
		},
		"mcpServers":     func(path string, v []byte) { r.servers(path, v, p) },
		"toolExposure":   oneOf(r, &p.ToolExposure, models.ExposeFull, models.ExposeBuiltin),
		"toolNameLimit":  r.toolNameLimit(&p.ToolNameLimit),
		"disabledTools":  r.strings(&p.DisabledTools, MaxDisabledTools, 512),
		"recordPayloads": r.boolean(&p.RecordPayloads),
		"rateLimit": func(path string, v []byte) {
			r.object(path, v, fieldReaders{
				"perSecond": r.number(&p.RatePerSecond, MaxRatePerSecond),
				"burst":     r.integer(&p.RateBurst, 0, MaxRatePerSecond),
			})
		},
	}
}

func (r *reader) servers(path string, raw []byte, p *ProjectDeclaration) {
	folded := map[string]string{}
	r.each(path, raw, func(alias, path string, v []byte) {
		if why := checkAlias(alias); why != "" {
			r.problem(path, why)
		}
		if other, taken := folded[foldAlias(alias)]; taken {
			r.problem(path, fmt.Sprintf("aliases are unique ignoring case, and %q is there too", other))
		}
		folded[foldAlias(alias)] = alias
		p.Servers[alias] = r.server(path, v)
	})
	if len(p.Servers) > MaxServers {
		r.problem(path, fmt.Sprintf("a project holds at most %d servers", MaxServers))
	}
}

func (r *reader) server(path string, raw []byte) *ServerDeclaration {
	s := &ServerDeclaration{}
	if o, err := rawjson.ParseObject(raw, rawjson.Strict); err == nil && o.Get("command") != nil {
		r.problem(join(path, "command"), clientfile.NotRunHere)
		return s
	}
	r.object(path, raw, r.serverFields(s))
	return s
}

// parsed returns the declaration as its JSON text reads, and records its
// problems.
func (r *reader) parsed(d *ServerDeclaration) *ServerDeclaration {
	s := r.server("", d.JSON())
	s.MissingHeaders = d.MissingHeaders
	return s
}

// serverFields returns the readers of the keys of a server.
func (r *reader) serverFields(s *ServerDeclaration) fieldReaders {
	return fieldReaders{
		"url":        r.text(&s.URL, MaxURL),
		"transport":  oneOf(r, &s.Transport, models.TransportAuto, models.TransportStreamableHTTP, models.TransportSSE),
		"authType":   oneOf(r, &s.AuthType, models.UpstreamAuthNone, models.UpstreamAuthBearer, models.UpstreamAuthOAuth),
		"authBearer": r.text(&s.AuthBearer, MaxHeaderValue),
		"headers": func(path string, v []byte) {
			s.Headers = map[string]string{}
			r.each(path, v, func(name, path string, v []byte) {
				var value *string
				r.text(&value, MaxHeaderValue)(path, v)
				if value != nil {
					s.Headers[name] = *value
				}
			})
			if len(s.Headers) > MaxHeaders {
				r.problem(path, fmt.Sprintf("use at most %d headers", MaxHeaders))
			}
		},
		"allowedTools":     r.strings(&s.AllowedTools, MaxPatterns, MaxPattern),
		"denyTools":        r.strings(&s.DenyTools, MaxPatterns, MaxPattern),
		"enabled":          r.boolean(&s.Enabled),
		"timeout":          r.milliseconds(&s.TimeoutMS, MinTimeoutMS, MaxTimeoutMS),
		"maxConcurrent":    r.integer(&s.MaxConcurrent, MinConcurrent, MaxConcurrent),
		"sessionMode":      oneOf(r, &s.SessionMode, models.SessionShared, models.SessionPerClient),
		"definitionPolicy": oneOf(r, &s.DefinitionPolicy, models.PolicyFollow, models.PolicyApprove),
		"oauth": func(path string, v []byte) {
			r.object(path, v, fieldReaders{
				"clientId":     r.text(&s.OAuthClientID, MaxURL),
				"clientSecret": r.text(&s.OAuthClientSecret, MaxHeaderValue),
				"scopes":       r.strings(&s.OAuthScopes, MaxScopes, MaxPattern),
			})
		},
	}
}
