package declaration

import (
	"fmt"
	"maps"
	"slices"

	"mcpgateway/models"
)

// Project is the desired state of one project.
type Project struct {
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
	Limits            *[]models.Limit
	RecordPayloads    *bool
	ToolNames         *models.ToolNames
	ValidateArguments *bool
	ResultLimit       *int64 // bytes of text; 0 means unlimited
	Identity
	PersonalKeys    *bool
	PersonalKeyDays *int64 // maximum lifetime
	SecretRefs      *[]string
	Retention       Retention
	Servers         map[string]*Server // by alias
	// Toolsets are those to create or change, by slug; nil without the key.
	Toolsets map[string]*Toolset
	Access   *Access // who can use the project; nil without the key
	// Recipes are those to create or change, by name; nil without the key.
	Recipes map[string]*Recipe
}

// Retention has the number of days or runs for which a project stores its records.
type Retention struct {
	Calls    *int64 // days
	Payloads *int64 // days; 0 stores none
	Runs     *int64 // number of Code Mode runs
}

// Check returns the declaration without invalid values, and the problems by
// path.
func (d *Project) Check() (*Project, map[string]string) {
	r, checked := newReader(), *d
	r.projectFields(&checked).check("")
	return &checked, r.problems
}

// projectFields returns the keys of a project.
func (r *reader) projectFields(d *Project) fields {
	if d.Servers == nil {
		d.Servers = map[string]*Server{}
	}
	known := fields{
		"name":        r.text(&d.Name, MaxName),
		"description": r.text(&d.Description, MaxDescription),
		"authMode":    oneOf(r, &d.AuthMode, models.AuthNone, models.AuthAPIKey, models.AuthOAuth),
		"oauthAccess": oneOf(r, &d.OAuthAccess, models.OAuthAnyone, models.OAuthMembers),
		"codeMode": r.group(fields{
			"enabled":    r.boolean(&d.CodeModeEnabled),
			"timeout":    r.milliseconds(&d.CodeModeTimeoutMS, MinRunTimeoutMS, MaxRunTimeoutMS),
			"allowFetch": r.boolean(&d.CodeModeFetch),
		}),
		"mcpServers":     r.servers(d),
		"toolsets":       r.toolsets(d),
		"access":         r.access(d),
		"recipes":        r.recipes(d),
		"toolExposure":   oneOf(r, &d.ToolExposure, models.ExposeFull, models.ExposeBuiltin),
		"toolNameLimit":  r.toolNameLimit(&d.ToolNameLimit),
		"disabledTools":  r.strings(&d.DisabledTools, MaxDisabledTools, 512),
		"recordPayloads": r.boolean(&d.RecordPayloads),
		"secretRefs":     r.references(&d.SecretRefs),
		"rateLimit": r.group(fields{
			"perSecond": r.number(&d.RatePerSecond, MaxRatePerSecond),
			"burst":     r.integer(&d.RateBurst, 0, MaxRatePerSecond),
		}),
		"limits": r.limits(&d.Limits),
		"personalKeys": r.group(fields{
			"enabled": r.boolean(&d.PersonalKeys),
			"maxDays": r.integer(&d.PersonalKeyDays, 1, MaxPersonalDays),
		}),
		"retention": r.group(fields{
			"calls":    r.integer(&d.Retention.Calls, 1, MaxCallDays),
			"payloads": r.integer(&d.Retention.Payloads, 0, MaxPayloadDays),
			"runs":     r.integer(&d.Retention.Runs, 1, MaxRuns),
		}),
		"toolNames":         oneOf(r, &d.ToolNames, models.NamesPrefixed, models.NamesBare),
		"validateArguments": r.boolean(&d.ValidateArguments),
		"resultLimit":       r.integer(&d.ResultLimit, 0, MaxResultLimit),
	}
	maps.Copy(known, r.identityFields(&d.Identity))
	return known
}

// servers returns the field of a project's servers by alias.
func (r *reader) servers(d *Project) field {
	bound := func(path string) {
		if len(d.Servers) > MaxServers {
			r.problem(path, fmt.Sprintf("a project can have at most %d servers", MaxServers))
		}
	}
	read := func(path string, raw []byte) {
		checkAlias := r.aliases()
		r.each(path, raw, func(alias, path string, v []byte) {
			checkAlias(path, alias)
			d.Servers[alias] = r.server(path, v)
		})
		bound(path)
	}
	check := func(path string) {
		checkAlias, given := r.aliases(), d.Servers
		d.Servers = make(map[string]*Server, len(given))
		for _, alias := range slices.Sorted(maps.Keys(given)) {
			path := Join(path, alias)
			checkAlias(path, alias)
			if given[alias] == nil {
				r.problem(path, "use an object")
				continue
			}
			server := *given[alias]
			r.serverFields(&server).check(path)
			d.Servers[alias] = &server
		}
		bound(path)
	}
	return field{read: read, check: check}
}
