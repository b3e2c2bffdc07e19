// Package config reads the gateway's settings from the environment and
// reports every mistake at once.
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
	"mcpgateway/services/secrets"
)

// variables are the settings as they stand in the environment (contract,
// "Program"). Every one may also be given as NAME_FILE, which names a file
// that holds the value.
type variables struct {
	Addr           string        `env:"GATEWAY_ADDR" envDefault:"127.0.0.1:8080"`
	PublicURL      string        `env:"GATEWAY_PUBLIC_URL"`
	DatabaseURL    string        `env:"GATEWAY_DATABASE_URL" envDefault:"sqlite:data/gateway.db"`
	SecretsKeys    string        `env:"GATEWAY_SECRETS_KEYS"`
	AdminToken     string        `env:"GATEWAY_ADMIN_TOKEN"`
	EgressAllow    string        `env:"GATEWAY_EGRESS_ALLOW"`
	EnvAllow       string        `env:"GATEWAY_ENV_ALLOW" envDefault:"MCP_UPSTREAM_*,*_TOKEN,*_API_KEY"`
	AllowedHosts   string        `env:"GATEWAY_ALLOWED_HOSTS"`
	AllowedOrigins string        `env:"GATEWAY_ALLOWED_ORIGINS"`
	AllowHTTP      bool          `env:"GATEWAY_ALLOW_HTTP"`
	BuiltinCatalog bool          `env:"GATEWAY_BUILTIN_CATALOG" envDefault:"true"`
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
	LogFormat      string        `env:"GATEWAY_LOG_FORMAT"`
	LogLevel       slog.Level    `env:"GATEWAY_LOG_LEVEL" envDefault:"info"`
}

// Config is the checked configuration.
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
	MaxStreams       int // open at once, of all clients
	Capacity
	MaxStaleness   time.Duration
	DrainDelay     time.Duration // between being told to end and closing the listener
	BuiltinCatalog bool          // whether the catalog that comes along is loaded
	TSC            string        // path of the native TypeScript compiler, or empty
	TrustedProxies []netip.Prefix
	SingleSignOn   SingleSignOn
	Tracing        Tracing
	Metrics        Metrics
	LogJSON        *bool // nil decides by the terminal
	LogLevel       slog.Level
	Unknown        []string // variables that look like settings and are none
}

// maxDrainDelay is the longest GATEWAY_DRAIN_DELAY: supervisors kill what takes
// much longer to end.
const maxDrainDelay = 5 * time.Minute

// minAdminToken is the least length of an administration token, in bytes.
const minAdminToken = 16

// Load reads the configuration from environ, in os.Environ's form. addr, when
// not empty, wins over GATEWAY_ADDR. The error joins every mistake, one per
// line. It creates the key file of a SQLite database that has none.
func Load(environ []string, addr string) (*Config, error) {
	r := &reader{}
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
		Unknown:        unknownSettings(environ),
	}
	c.Tracing = r.tracing(lookup)
	c.LoopbackListener = r.listener("GATEWAY_ADDR", vars.Addr)
	c.Metrics = r.metrics(vars)
	c.PublicURL = r.publicURL(vars, c.LoopbackListener)
	c.EgressAllow = egress.DefaultAllow(c.LoopbackListener)
	if vars.EgressAllow != "" {
		c.EgressAllow = r.prefixes("GATEWAY_EGRESS_ALLOW", vars.EgressAllow)
	}
	for _, o := range c.AllowedOrigins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			r.mistake("GATEWAY_ALLOWED_ORIGINS: %q is not an origin such as https://app.example.com", o)
		}
	}
	c.TSC, c.BuiltinCatalog, c.DrainDelay = vars.TSC, vars.BuiltinCatalog, vars.DrainDelay
	if c.TSC != "" {
		if info, err := os.Stat(c.TSC); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			r.mistake("GATEWAY_TSC: %q is not a program that can be started", c.TSC)
		}
	}
	if n := len(vars.AdminToken); n > 0 && n < minAdminToken {
		r.mistake("GATEWAY_ADMIN_TOKEN: use at least %d characters", minAdminToken)
	}
	if vars.MaxStreams < 1 && !r.told("GATEWAY_MAX_STREAMS") {
		r.mistake("GATEWAY_MAX_STREAMS: use at least 1")
	}
	if vars.MaxStaleness < time.Second && !r.told("GATEWAY_MAX_STALENESS") {
		r.mistake("GATEWAY_MAX_STALENESS: use at least 1s")
	}
	if vars.DrainDelay < 0 || vars.DrainDelay > maxDrainDelay {
		r.mistake("GATEWAY_DRAIN_DELAY: use a duration from 0s to %v", maxDrainDelay)
	}
	c.Capacity = r.capacity(vars)
	c.LogJSON = r.logFormat(vars.LogFormat)
	c.Keys = r.keys(vars)
	if len(r.mistakes) > 0 {
		return nil, errors.Join(r.mistakes...)
	}
	return c, nil
}

// DatabaseFile returns the path of the SQLite database that the environment
// names; "" for any other, and for an environment that Load refuses. It creates
// nothing, which Load does.
func DatabaseFile(environ []string) string {
	vars, _ := (&reader{}).variables(environ)
	path, _ := strings.CutPrefix(vars.DatabaseURL, "sqlite:")
	if path == vars.DatabaseURL {
		return ""
	}
	return path
}

type reader struct{ mistakes []error }

func (r *reader) mistake(format string, args ...any) {
	r.mistakes = append(r.mistakes, fmt.Errorf(format, args...))
}

// told reports whether a mistake in the variable is known already.
func (r *reader) told(name string) bool {
	return slices.ContainsFunc(r.mistakes, func(err error) bool { return strings.HasPrefix(err.Error(), name+":") })
}

// variables reads the environment with every NAME_FILE resolved. lookup
// finds any variable, for references in credentials.
func (r *reader) variables(environ []string) (vars variables, lookup func(string) (string, bool)) {
	all := env.ToMap(environ)
	own := map[string]string{}
	for name, value := range all {
		if strings.HasPrefix(name, "GATEWAY_") && value != "" {
			own[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		path := own[name]
		target, isFile := strings.CutSuffix(name, "_FILE")
		if !isFile {
			continue
		}
		if own[target] != "" {
			r.mistake("%s and %s are both set: keep one", target, name)
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			r.mistake("%s: %v", name, err)
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
			r.mistake("%s", describe(e))
		}
	}
	return vars, func(name string) (string, bool) { v, ok := all[name]; return v, ok }
}

// describe names the variable of a value that cannot be parsed, where the
// library names the field.
func describe(err error) string {
	var parse env.ParseError
	if errors.As(err, &parse) {
		if field, ok := reflect.TypeFor[variables]().FieldByName(parse.Name); ok {
			return field.Tag.Get("env") + ": " + wanted(field.Type, parse.Err)
		}
	}
	return err.Error()
}

// wanted says what a variable of the type takes.
func wanted(typ reflect.Type, err error) string {
	switch typ {
	case reflect.TypeFor[bool]():
		return "use true or false"
	case reflect.TypeFor[time.Duration]():
		return "use a duration such as 90s or 5m"
	case reflect.TypeFor[slog.Level]():
		return "use debug, info, warn or error"
	case reflect.TypeFor[int]():
		return "use a whole number"
	default:
		return err.Error()
	}
}

func (r *reader) publicURL(vars variables, loopback bool) *url.URL {
	text := vars.PublicURL
	if text == "" {
		if r.told("GATEWAY_ADDR") {
			return &url.URL{} // one mistake is told once
		}
		text = "http://" + vars.Addr
	}
	u, err := url.Parse(text)
	if err == nil && vars.PublicURL == "" && u.Hostname() == "" {
		r.mistake("GATEWAY_PUBLIC_URL: set it to the address under which clients reach this listener, because GATEWAY_ADDR names no host")
		return &url.URL{}
	}
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		r.mistake("GATEWAY_PUBLIC_URL: %q is not an origin such as https://gateway.example.com", text)
		return &url.URL{}
	}
	if u.Scheme == "http" && !loopback && !vars.AllowHTTP {
		if vars.PublicURL == "" {
			r.mistake("GATEWAY_PUBLIC_URL: set it to the https address under which clients reach this listener, or set GATEWAY_ALLOW_HTTP=true")
		} else {
			r.mistake("GATEWAY_PUBLIC_URL: http is refused on a listener that others can reach; use https, or set GATEWAY_ALLOW_HTTP=true")
		}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}
}

func (r *reader) prefixes(name, list string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range split(list) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			addr, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				r.mistake("%s: %q is not a network such as 10.0.0.0/8", name, text)
				continue
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		out = append(out, p)
	}
	return out
}

func (r *reader) logFormat(format string) *bool {
	json := format == "json"
	switch format {
	case "":
		return nil
	case "text", "json":
		return &json
	default:
		r.mistake("GATEWAY_LOG_FORMAT: use text or json")
		return nil
	}
}

// keys returns the key ring: the given one, or for SQLite the file beside the
// database, created when there is none. PostgreSQL is shared by replicas, so
// a generated key would be wrong on all but one of them.
func (r *reader) keys(vars variables) *secrets.KeyRing {
	dialect, err := models.Dialect(vars.DatabaseURL)
	if err != nil {
		r.mistake("GATEWAY_DATABASE_URL: %v", err)
	}
	if vars.SecretsKeys != "" {
		ring, err := secrets.ParseKeyRing(vars.SecretsKeys)
		if err != nil {
			r.mistake("GATEWAY_SECRETS_KEYS: %v", err)
		}
		return ring
	}
	if err != nil {
		return nil
	}
	if dialect != "sqlite" {
		r.mistake("GATEWAY_SECRETS_KEYS: set it with PostgreSQL, for example to k1:$(openssl rand -base64 32), the same on every replica")
		return nil
	}
	if len(r.mistakes) > 0 {
		return nil // nothing is written for a configuration that is refused
	}
	dir := filepath.Dir(strings.TrimPrefix(vars.DatabaseURL, "sqlite:"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.mistake("GATEWAY_DATABASE_URL: %v", err)
		return nil
	}
	ring, err := secrets.LoadOrCreateKeyFile(filepath.Join(dir, "secrets.key"))
	if err != nil {
		r.mistake("GATEWAY_SECRETS_KEYS: %v", err)
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
