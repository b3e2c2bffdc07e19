package config

// maxAuditYears is the maximum GATEWAY_AUDIT_YEARS.
const maxAuditYears = 100

func (r *loader) auditYears(years int) int {
	if (years < 0 || years > maxAuditYears) && !r.isReported("GATEWAY_AUDIT_YEARS") {
		r.addProblem("GATEWAY_AUDIT_YEARS: use 0 to keep the audit log for ever, or 1 to %d years", maxAuditYears)
	}
	return years
}
