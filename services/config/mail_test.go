package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMailServer(t *testing.T) {
	const secret = "s3cret-of-mail"
	for _, tt := range []struct {
		url      string
		host     string
		port     int
		implicit bool
		user     string
		from     string
	}{
		{"smtp://mail.example.com?from=gateway@example.com", "mail.example.com", 587, false, "", "gateway@example.com"},
		{"smtps://mail.example.com?from=gateway@example.com", "mail.example.com", 465, true, "", "gateway@example.com"},
		{"smtp://u%40x:" + secret + "@[::1]:2525/?from=Gateway+%3Cg%2Ba@example.com%3E", "::1", 2525, false, "u@x", "Gateway <g+a@example.com>"},
	} {
		c := mustLoad(t, "GATEWAY_SMTP_URL="+tt.url)
		m := c.Mail
		if m.Host != tt.host || m.Port != tt.port || m.Implicit != tt.implicit || m.User != tt.user || m.From != tt.from {
			t.Errorf("%s = %+v", tt.url, m)
		}
		if tt.user != "" && m.Password.Reveal() != secret || strings.Contains(fmt.Sprintf("%+v", c), secret) {
			t.Errorf("%s: the password is lost or printed", tt.url)
		}
	}
	if c := mustLoad(t); !c.Mail.IsZero() || c.AlertEmail != nil {
		t.Errorf("without a URL: %+v %v", c.Mail, c.AlertEmail)
	}
	c := mustLoad(t, "GATEWAY_SMTP_URL=smtp://m.example?from=a@b.example", "GATEWAY_ALERT_EMAIL=x@example.com, Ops <ops@example.com>")
	if want := []string{"x@example.com", "Ops <ops@example.com>"}; !slices.Equal(c.AlertEmail, want) {
		t.Errorf("recipients = %q, want %q", c.AlertEmail, want)
	}
}

func TestMailServerProblems(t *testing.T) {
	for url, problem := range map[string]string{
		"mail.example.com":                                      "use a URL such as",
		"http://mail.example.com?from=a@b.example":              "use a URL such as",
		"smtp://?from=a@b.example":                              "use a URL such as",
		"smtp://m.example/path?from=a@b.example":                "use a URL such as",
		"smtp://m.example:0?from=a@b.example":                   "use a port",
		"smtp://m.example:65536?from=a@b.example":               "use a port",
		"smtp://user@m.example?from=a@b.example":                "give both the user",
		"smtp://u:p%0d%0aRCPT@m.example?from=a@b.example":       "use no control characters",
		"smtp://m.example":                                      "end it with the sender's address",
		"smtp://m.example?from=a@b.example&tls=off":             "end it with the sender's address",
		"smtp://m.example?from=a@b.example&from=c@d.example":    "end it with the sender's address",
		"smtp://m.example?from=gateway":                         "from must be an email address",
		"smtp://m.example?from=a@b.example%0d%0aBcc:x@evil.org": "from must be an email address",
	} {
		wantMistakes(t, []string{withKeys, "GATEWAY_SMTP_URL=" + url}, "GATEWAY_SMTP_URL: "+problem)
	}
	wantMistakes(t, []string{withKeys, "GATEWAY_ALERT_EMAIL=a@b.example"}, "GATEWAY_ALERT_EMAIL: requires GATEWAY_SMTP_URL")
	url := "GATEWAY_SMTP_URL=smtp://m.example?from=a@b.example"
	wantMistakes(t, []string{withKeys, url, "GATEWAY_ALERT_EMAIL=nobody"}, `GATEWAY_ALERT_EMAIL: "nobody" is not an email address`)
	twenty := strings.TrimSuffix(strings.Repeat("a@b.example,", 20), ",")
	mustLoad(t, url, "GATEWAY_ALERT_EMAIL="+twenty)
	wantMistakes(t, []string{withKeys, url, "GATEWAY_ALERT_EMAIL=" + twenty + ",a@b.example"}, "GATEWAY_ALERT_EMAIL: use at most 20")
}
