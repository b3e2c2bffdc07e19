package public

import (
	"net/url"
	"strings"

	"mcpgateway/views/public"
)

// reportURL returns the address to report a problem with a server: report with
// its name as the parameter row, or as the subject of an email. It returns ""
// without an address.
func reportURL(report *url.URL, s public.CatalogEntry) string {
	if report == nil {
		return ""
	}
	to, name := *report, s.PublisherName+"/"+s.ServerName
	values := to.Query()
	if to.Scheme == "mailto" {
		values.Set("subject", strings.TrimSpace(values.Get("subject")+" "+name))
	} else {
		values.Set("row", name)
	}
	to.RawQuery = strings.ReplaceAll(values.Encode(), "+", "%20") // in an email, "+" is not a space
	return to.String()
}
