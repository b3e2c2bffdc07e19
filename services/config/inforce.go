package config

import (
	"errors"
	"reflect"
	"slices"

	"github.com/caarlos0/env/v11"
)

// Setting is a setting that the environment sets.
type Setting struct {
	Name  string
	Value string // empty for a secret
	// Secret is set for values that manifests refer to instead of containing
	// them.
	Secret bool
}

// open are the settings whose values aren't secret. All others are treated as
// secrets, so that a new setting isn't printed by mistake.
var open = []string{
	"GATEWAY_ADDR", "GATEWAY_PUBLIC_URL", "GATEWAY_EGRESS_ALLOW", "GATEWAY_ENV_ALLOW", "GATEWAY_SECRET_DIRS", "GATEWAY_ALLOWED_HOSTS", "GATEWAY_ALLOWED_ORIGINS",
	"GATEWAY_ALLOW_HTTP", "GATEWAY_BUILTIN_CATALOG", "GATEWAY_CATALOG_REPORT_URL", "GATEWAY_CATALOG_ICONS", "GATEWAY_CATALOG_PROBE", "GATEWAY_MAX_STREAMS",
	"GATEWAY_MAX_CONNECTIONS", "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS", "GATEWAY_REQUEST_MEMORY_MIB", "GATEWAY_RESULT_MEMORY_MIB", "GATEWAY_MAX_STALENESS",
	"GATEWAY_DRAIN_DELAY", "GATEWAY_METRICS_ADDR", "GATEWAY_TSC", "GATEWAY_TRUSTED_PROXIES", "GATEWAY_OIDC_ISSUER", "GATEWAY_OIDC_CLIENT_ID",
	"GATEWAY_OIDC_ALLOWED_DOMAINS", "GATEWAY_OIDC_DEFAULT_ROLE", "GATEWAY_OIDC_SCOPES", "GATEWAY_OIDC_GROUPS_CLAIM", "GATEWAY_OIDC_GROUPS_MAX_AGE",
	"GATEWAY_REQUIRE_SECOND_FACTOR", "GATEWAY_EMBEDDINGS_MODEL", "GATEWAY_AUDIT_YEARS", "GATEWAY_BACKUP_DIR", "GATEWAY_BACKUP_EVERY", "GATEWAY_BACKUP_KEEP",
	"GATEWAY_LOG_FORMAT", "GATEWAY_LOG_LEVEL",
}

// InForce returns the settings that the environment sets, in the order of their
// declaration. Secrets have no value. Unlike Load, it creates nothing and doesn't
// check what depends on the machine, such as files. The error joins the problems of
// the values.
func InForce(environ []string) ([]Setting, error) {
	r := &loader{}
	vars, _ := r.variables(environ)
	r.values(vars)
	r.capacity(vars)
	r.auditYears(vars.AuditYears)
	if err := errors.Join(r.problems...); err != nil {
		return nil, err
	}
	all := env.ToMap(environ)
	var set []Setting
	for field := range reflect.TypeFor[variables]().Fields() {
		name := field.Tag.Get("env")
		value := all[name]
		if value == "" && all[name+"_FILE"] == "" {
			continue
		}
		if slices.Contains(open, name) && value != "" {
			set = append(set, Setting{Name: name, Value: value})
		} else {
			set = append(set, Setting{Name: name, Secret: true})
		}
	}
	return set, nil
}
