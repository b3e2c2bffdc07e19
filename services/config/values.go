package config

import (
	"net/url"
	"slices"
	"time"
)

// maxDrainDelay is the maximum GATEWAY_DRAIN_DELAY. Supervisors kill processes
// that take much longer to stop.
const maxDrainDelay = 5 * time.Minute

// values checks the settings that are numbers, choices and lists, on any machine.
func (r *loader) values(vars variables) {
	for _, o := range split(vars.AllowedOrigins) {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			r.addProblem("GATEWAY_ALLOWED_ORIGINS: %q is not an origin such as https://app.example.com", o)
		}
	}
	if !slices.Contains([]string{ProbeOff, ProbeDaily}, vars.CatalogProbe) {
		r.addProblem("GATEWAY_CATALOG_PROBE: use off or daily, not %q", vars.CatalogProbe)
	}
	if !slices.Contains([]string{"off", "admins", "everyone"}, vars.SecondFactor) {
		r.addProblem("GATEWAY_REQUIRE_SECOND_FACTOR: use off, admins or everyone, not %q", vars.SecondFactor)
	}
	if vars.MaxStreams < 1 && !r.isReported("GATEWAY_MAX_STREAMS") {
		r.addProblem("GATEWAY_MAX_STREAMS: use at least 1")
	}
	if vars.MaxStaleness < time.Second && !r.isReported("GATEWAY_MAX_STALENESS") {
		r.addProblem("GATEWAY_MAX_STALENESS: use at least 1s")
	}
	if vars.DrainDelay < 0 || vars.DrainDelay > maxDrainDelay {
		r.addProblem("GATEWAY_DRAIN_DELAY: use a duration from 0s to %v", maxDrainDelay)
	}
}
