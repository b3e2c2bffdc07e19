// Package config loads the gateway's settings from the environment and reports
// all problems together.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"mcpgateway/models"
	"mcpgateway/services/egress"
	"mcpgateway/services/mail"
	"mcpgateway/services/secrets"
)

// variables are the settings in the environment (contract, "Program"). Each can
// also be set as NAME_FILE, the name of a file that contains the value.
type variables struct {
	Addr           string        `env:"GATEWAY_ADDR" envDefault:"127.0.0.1:8080"`
	PublicURL      string        `env:"GATEWAY_PUBLIC_URL"`
	DatabaseURL    string        `env:"GATEWAY_DATABASE_URL" envDefault:"sqlite:data/gateway.db"`
	SecretsKeys    string        `env:"GATEWAY_SECRETS_KEYS"`
	AdminToken     string        `env:"GATEWAY_ADMIN_TOKEN"`
	EgressAllow    string        `env:"GATEWAY_EGRESS_ALLOW"`
	EnvAllow       string        `env:"GATEWAY_ENV_ALLOW" envDefault:"MCP_UPSTREAM_*,*_TOKEN,*_API_KEY"`
	SecretDirs     string        `env:"GATEWAY_SECRET_DIRS"`
	AllowedHosts   string        `env:"GATEWAY_ALLOWED_HOSTS"`
	AllowedOrigins string        `env:"GATEWAY_ALLOWED_ORIGINS"`
	AllowHTTP      bool          `env:"GATEWAY_ALLOW_HTTP"`
	BuiltinCatalog bool          `env:"GATEWAY_BUILTIN_CATALOG" envDefault:"true"`
	CatalogReport  string        `env:"GATEWAY_CATALOG_REPORT_URL"`
	CatalogIcons   bool          `env:"GATEWAY_CATALOG_ICONS" envDefault:"true"`
	CatalogProbe   string        `env:"GATEWAY_CATALOG_PROBE" envDefault:"off"`
	MaxStreams     int           `env:"GATEWAY_MAX_STREAMS" envDefault:"5000"`
	MaxConnections int           `env:"GATEWAY_MAX_CONNECTIONS" envDefault:"20000"`
	MaxPerAddress  int           `env:"GATEWAY_MAX_CONNECTIONS_PER_ADDRESS" envDefault:"512"`
	RequestMemory  int           `env:"GATEWAY_REQUEST_MEMORY_MIB" envDefault:"256"`
	ResultMemory   int           `env:"GATEWAY_RESULT_MEMORY_MIB" envDefault:"512"`
	MaxStaleness   time.Duration `env:"GATEWAY_MAX_STALENESS" envDefault:"5m"`
	DrainDelay     time.Duration `env:"GATEWAY_DRAIN_DELAY" envDefault:"0s"`
	MetricsToken   string        `env:"GATEWAY_METRICS_TOKEN"`
	MetricsAddr    string        `env:"GATEWAY_METRICS_ADDR"`
	TSC            string        `env:"GATEWAY_TSC"`
	TrustedProxies string        `env:"GATEWAY_TRUSTED_PROXIES"`
	OIDCIssuer     string        `env:"GATEWAY_OIDC_ISSUER"`
	OIDCClientID   string        `env:"GATEWAY_OIDC_CLIENT_ID"`
	OIDCSecret     string        `env:"GATEWAY_OIDC_CLIENT_SECRET"`
	OIDCDomains    string        `env:"GATEWAY_OIDC_ALLOWED_DOMAINS"`
	OIDCRole       string        `env:"GATEWAY_OIDC_DEFAULT_ROLE" envDefault:"viewer"`
	OIDCScopes     string        `env:"GATEWAY_OIDC_SCOPES"`
	OIDCGroups     string        `env:"GATEWAY_OIDC_GROUPS_CLAIM" envDefault:"groups"`
	OIDCGroupsAge  time.Duration `env:"GATEWAY_OIDC_GROUPS_MAX_AGE" envDefault:"168h"`
	SecondFactor   string        `env:"GATEWAY_REQUIRE_SECOND_FACTOR" envDefault:"off"`
	OutboxFile     string        `env:"GATEWAY_OUTBOX_FILE"`
	EmbedURL       string        `env:"GATEWAY_EMBEDDINGS_URL"`
	EmbedModel     string        `env:"GATEWAY_EMBEDDINGS_MODEL"`
	EmbedKey       string        `env:"GATEWAY_EMBEDDINGS_KEY"`
	AuditYears     int           `env:"GATEWAY_AUDIT_YEARS" envDefault:"0"`
	SMTPURL        string        `env:"GATEWAY_SMTP_URL"`
	AlertEmail     string        `env:"GATEWAY_ALERT_EMAIL"`
	BackupDir      string        `env:"GATEWAY_BACKUP_DIR"`
	BackupEvery    time.Duration `env:"GATEWAY_BACKUP_EVERY" envDefault:"24h"`
	BackupKeep     int           `env:"GATEWAY_BACKUP_KEEP" envDefault:"7"`
	LogFormat      string        `env:"GATEWAY_LOG_FORMAT"`
	LogLevel       slog.Level    `env:"GATEWAY_LOG_LEVEL" envDefault:"info"`
}

// Config is the validated configuration.
type Config struct {
	Addr             string
	LoopbackListener bool
	PublicURL        *url.URL
	DatabaseURL      string
	Keys             *secrets.KeyRing
	AdminToken       secrets.Value
	EgressAllow      []netip.Prefix
	Environment      *secrets.Environment
	AllowedHosts     []string
	AllowedOrigins   []string
	MaxStreams       int // concurrent, all clients
	Capacity
	MaxStaleness   time.Duration
	DrainDelay     time.Duration // between SIGTERM and closing the listener
	BuiltinCatalog bool          // whether the built-in catalog is loaded
	CatalogReport  *url.URL      // where problems with servers of the catalog are reported; nil means nowhere
	CatalogIcons   bool          // whether the icons of catalog rows are fetched
	CatalogProbe   string        // how often the catalog's remote servers are checked: off or daily
	TSC            string        // native TypeScript compiler, or empty
	TrustedProxies []netip.Prefix
	SingleSignOn   SingleSignOn
	SecondFactor   string // who must have one: off, admins or everyone
	OutboxFile     string // absolute path of the file that receives events, or empty
	Embeddings     Embeddings
	Tracing        Tracing
	Metrics        Metrics
	AuditYears     int         // age at which audit rows are deleted; 0 means never
	Mail           mail.Server // zero without one
	AlertEmail     []string    // who receives alerts; empty means all administrators
	LogJSON        *bool       // nil selects by terminal
	Backup         Backup
	LogLevel       slog.Level
	Unknown        []string // unknown variables that look like settings
}

// The values of GATEWAY_CATALOG_PROBE.
const (
	ProbeOff   = "off"
	ProbeDaily = "daily"
)

// minAdminToken is the minimum length of an administration token, in bytes.
const minAdminToken = 16

// Load returns the configuration of environ, in the form of os.Environ. A
// non-empty addr overrides GATEWAY_ADDR. The error joins all problems, one per
// line. Load creates the key file of a SQLite database if it is missing.
func Load(environ []string, addr string) (*Config, error) {
	r := &loader{}
	vars, lookup := r.variables(environ)
	if addr != "" {
		vars.Addr = addr
	}
	c := &Config{
		Addr: vars.Addr, DatabaseURL: vars.DatabaseURL, MaxStreams: vars.MaxStreams, MaxStaleness: vars.MaxStaleness, LogLevel: vars.LogLevel,
		AdminToken: secrets.NewValue(vars.AdminToken), AllowedHosts: split(vars.AllowedHosts), AllowedOrigins: split(vars.AllowedOrigins),
		TrustedProxies: r.prefixes("GATEWAY_TRUSTED_PROXIES", vars.TrustedProxies),
		Environment:    secrets.NewEnvironment(split(vars.EnvAllow), lookup),
		SingleSignOn:   r.singleSignOn(vars),
		SecondFactor:   vars.SecondFactor,
		Unknown:        unknownSettings(environ),
	}
	c.OutboxFile = r.outboxFile(vars.OutboxFile)
	c.Embeddings = r.embeddings(vars)
	c.Tracing = r.tracing(lookup)
	c.Mail, c.AlertEmail = r.mail(vars)
	c.LoopbackListener = r.listener("GATEWAY_ADDR", vars.Addr)
	c.Metrics = r.metrics(vars)
	c.PublicURL = r.publicURL(vars, c.LoopbackListener)
	c.EgressAllow = egress.DefaultAllow(c.LoopbackListener)
	if vars.EgressAllow != "" {
		c.EgressAllow = r.prefixes("GATEWAY_EGRESS_ALLOW", vars.EgressAllow)
	}
	c.TSC, c.BuiltinCatalog, c.DrainDelay = vars.TSC, vars.BuiltinCatalog, vars.DrainDelay
	c.CatalogReport = r.catalogReport(vars.CatalogReport)
	c.CatalogIcons, c.CatalogProbe = vars.CatalogIcons, vars.CatalogProbe
	if c.TSC != "" {
		if info, err := os.Stat(c.TSC); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			r.addProblem("GATEWAY_TSC: %q is not an executable file", c.TSC)
		}
	}
	if n := len(vars.AdminToken); n > 0 && n < minAdminToken {
		r.addProblem("GATEWAY_ADMIN_TOKEN: use at least %d characters", minAdminToken)
	}
	r.values(vars)
	c.Capacity = r.capacity(vars)
	c.AuditYears = r.auditYears(vars.AuditYears)
	c.Backup = r.backup(vars)
	c.LogJSON = r.logFormat(vars.LogFormat)
	c.Environment = c.Environment.WithFiles(secrets.NewFiles(r.secretDirs(vars, environ)))
	c.Keys = r.keys(vars)
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return c, nil
}

// Logging returns a configuration with only the settings of the log, for commands
// without a database. The error joins their problems.
func Logging(environ []string) (*Config, error) {
	r := &loader{}
	vars, _ := r.variables(environ)
	c := &Config{LogLevel: vars.LogLevel, LogJSON: r.logFormat(vars.LogFormat)}
	return c, errors.Join(slices.DeleteFunc(r.problems, func(err error) bool { return !strings.HasPrefix(err.Error(), "GATEWAY_LOG_") })...)
}

// DatabaseFile returns the path of the SQLite database in the environment. It
// returns "" for PostgreSQL and for an invalid environment. Unlike Load, it
// creates nothing.
func DatabaseFile(environ []string) string {
	vars, _ := (&loader{}).variables(environ)
	path, _ := strings.CutPrefix(vars.DatabaseURL, "sqlite:")
	if path == vars.DatabaseURL {
		return ""
	}
	return path
}

type loader struct{ problems []error }

func (r *loader) addProblem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(format, args...))
}

// isReported reports whether a problem with the variable has been added.
func (r *loader) isReported(name string) bool {
	return slices.ContainsFunc(r.problems, func(err error) bool { return strings.HasPrefix(err.Error(), name+":") })
}

// variables returns the settings with every NAME_FILE resolved. lookup returns
// any variable, for references in credentials.
func (r *loader) variables(environ []string) (vars variables, lookup func(string) (string, bool)) {
	all := env.ToMap(environ)
	own := map[string]string{}
	for name, value := range all {
		if strings.HasPrefix(name, "GATEWAY_") && value != "" {
			own[name] = value
		}
	}
	names := settingNames()
	for _, name := range slices.Sorted(maps.Keys(own)) {
		path := own[name]
		target, isFile := strings.CutSuffix(name, "_FILE")
		if !isFile || names[name] {
			continue
		}
		if own[target] != "" {
			r.addProblem("%s and %s are both set; remove one", target, name)
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			r.addProblem("%s: %v", name, err)
			continue
		}
		own[target] = strings.TrimRight(string(b), "\r\n")
	}
	if err := env.ParseWithOptions(&vars, env.Options{Environment: own}); err != nil {
		var many env.AggregateError
		if !errors.As(err, &many) {
			many.Errors = []error{err}
		}
		for _, e := range many.Errors {
			r.addProblem("%s", describe(e))
		}
	}
	return vars, func(name string) (string, bool) { v, ok := all[name]; return v, ok }
}

// describe returns the message for a variable that can't be parsed. The
// library's message names the struct field instead.
func describe(err error) string {
	var parse env.ParseError
	if errors.As(err, &parse) {
		if field, ok := reflect.TypeFor[variables]().FieldByName(parse.Name); ok {
			return field.Tag.Get("env") + ": " + expectedFormat(field.Type, parse.Err)
		}
	}
	return err.Error()
}

// expectedFormat describes the valid values of a variable of the type.
func expectedFormat(typ reflect.Type, err error) string {
	switch typ {
	case reflect.TypeFor[bool]():
		return "use true or false"
	case reflect.TypeFor[time.Duration]():
		return "use a duration such as 90s or 5m"
	case reflect.TypeFor[slog.Level]():
		return "use debug, info, warn or error"
	case reflect.TypeFor[int]():
		return "use an integer"
	default:
		return err.Error()
	}
}

func (r *loader) publicURL(vars variables, loopback bool) *url.URL {
	text := vars.PublicURL
	if text == "" {
		if r.isReported("GATEWAY_ADDR") {
			return &url.URL{} // reported already
		}
		text = "http://" + vars.Addr
	}
	u, err := url.Parse(text)
	if err == nil && vars.PublicURL == "" && u.Hostname() == "" {
		r.addProblem("GATEWAY_PUBLIC_URL: set it to the URL that clients use, because GATEWAY_ADDR has no host")
		return &url.URL{}
	}
	if err != nil || !IsOrigin(u) {
		r.addProblem("GATEWAY_PUBLIC_URL: %q is not an origin such as https://gateway.example.com", text)
		return &url.URL{}
	}
	if u.Scheme == "http" && !loopback && !vars.AllowHTTP {
		if vars.PublicURL == "" {
			r.addProblem("GATEWAY_PUBLIC_URL: set it to the https URL that clients use, or set GATEWAY_ALLOW_HTTP=true")
		} else {
			r.addProblem("GATEWAY_PUBLIC_URL: http requires a loopback listener; use https, or set GATEWAY_ALLOW_HTTP=true")
		}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}
}

// IsOrigin reports whether a URL is an origin of http or https: it has a host and
// neither credentials, path, query nor fragment.
func IsOrigin(u *url.URL) bool {
	return u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == "" && u.User == nil && strings.Trim(u.Path, "/") == ""
}

func (r *loader) prefixes(name, list string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range split(list) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			addr, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				r.addProblem("%s: %q is not a network such as 10.0.0.0/8", name, text)
				continue
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		out = append(out, p)
	}
	return out
}

func (r *loader) logFormat(format string) *bool {
	json := format == "json"
	switch format {
	case "":
		return nil
	case "text", "json":
		return &json
	default:
		r.addProblem("GATEWAY_LOG_FORMAT: use text or json")
		return nil
	}
}

// keys returns the key ring: the configured one or, for SQLite, the file next
// to the database, which is created if missing. PostgreSQL is shared by
// replicas, which would generate different keys.
func (r *loader) keys(vars variables) *secrets.KeyRing {
	dialect, err := models.Dialect(vars.DatabaseURL)
	if err != nil {
		r.addProblem("GATEWAY_DATABASE_URL: %v", err)
	}
	if vars.SecretsKeys != "" {
		ring, err := secrets.ParseKeyRing(vars.SecretsKeys)
		if err != nil {
			r.addProblem("GATEWAY_SECRETS_KEYS: %v", err)
		}
		return ring
	}
	if err != nil {
		return nil
	}
	if dialect != "sqlite" {
		r.addProblem("GATEWAY_SECRETS_KEYS: required with PostgreSQL. Use the same value on every replica, for example k1:$(openssl rand -base64 32)")
		return nil
	}
	if len(r.problems) > 0 {
		return nil // an invalid configuration writes nothing
	}
	dir := filepath.Dir(strings.TrimPrefix(vars.DatabaseURL, "sqlite:"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.addProblem("GATEWAY_DATABASE_URL: %v", err)
		return nil
	}
	ring, err := secrets.LoadOrCreateKeyFile(filepath.Join(dir, "secrets.key"))
	if err != nil {
		r.addProblem("GATEWAY_SECRETS_KEYS: %v", err)
	}
	return ring
}

func split(list string) []string {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
