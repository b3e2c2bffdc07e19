package config

import (
	"mcpgateway/services/mail"
)

// maxAlertEmails is the maximum number of addresses in GATEWAY_ALERT_EMAIL.
const maxAlertEmails = 20

// mail returns the mail server and the recipients of alerts.
func (r *loader) mail(vars variables) (server mail.Server, alerts []string) {
	alerts = split(vars.AlertEmail)
	if vars.SMTPURL == "" {
		if len(alerts) > 0 {
			r.addProblem("GATEWAY_ALERT_EMAIL: requires GATEWAY_SMTP_URL")
		}
		return server, nil
	}
	server, err := mail.ParseServer(vars.SMTPURL)
	if err != nil {
		r.addProblem("GATEWAY_SMTP_URL: %v", err)
	}
	for _, address := range alerts {
		if !mail.IsAddress(address) {
			r.addProblem("GATEWAY_ALERT_EMAIL: %q is not an email address", address)
		}
	}
	if len(alerts) > maxAlertEmails {
		r.addProblem("GATEWAY_ALERT_EMAIL: use at most %d addresses", maxAlertEmails)
	}
	return server, alerts
}
