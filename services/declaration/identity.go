package declaration

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpgateway/services/rawjson"
)

// Identity is the part of a project's declaration that clients see when they
// connect, in addition to its name and description.
type Identity struct {
	Instructions *string // for models
	Icon         *string // https: or data: URL of an image; "" for none
	WebsiteURL   *string // http: or https: URL; "" for none
	ServerCard   *bool   // publish a Server Card (SEP-2127)
	Published    *bool   // list the endpoint and its toolsets in the catalog
}

// identityFields returns the keys of Identity.
func (r *reader) identityFields(d *Identity) fields {
	return fields{
		"instructions": r.checked(&d.Instructions, MaxInstructions, func(string) string { return "" }),
		"icon":         r.checked(&d.Icon, MaxIcon, checkIcon),
		"websiteUrl":   r.checked(&d.WebsiteURL, MaxURL, checkWebsite),
		"serverCard":   r.boolean(&d.ServerCard),
		"published":    r.boolean(&d.Published),
	}
}

// checked returns the field of a text of at most max bytes with the problem that
// check returns.
func (r *reader) checked(dst **string, max int, check func(string) string) field {
	return value(r, dst, "use a string", rawjson.String, func(s string) (string, string) {
		s, why := checkText(s, max)
		if why == "" && len(s) > max {
			why = fmt.Sprintf("use at most %d bytes", max)
		}
		if why == "" && s != "" {
			why = check(s)
		}
		return s, why
	})
}

// iconTypes are the media types of a project's icon.
var iconTypes = []string{"image/png", "image/jpeg", "image/webp"}

const iconHint = "use an https: URL, or a data: URL with a PNG, JPEG or WebP image as base64"

// checkIcon returns the problem of an icon, or "". The images of data: URLs must
// have the named type.
func checkIcon(icon string) string {
	if IconType(icon) != "" {
		return ""
	}
	if isWebURL(icon, "https") {
		return ""
	}
	return iconHint
}

// IconType returns the media type of an icon that is a valid data: URL, or "".
func IconType(icon string) string {
	data, isData := strings.CutPrefix(icon, "data:")
	mediaType, encoded, isBase64 := strings.Cut(data, ";base64,")
	if !isData || !isBase64 || !slices.Contains(iconTypes, mediaType) {
		return ""
	}
	image, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || http.DetectContentType(image) != mediaType {
		return ""
	}
	return mediaType
}

// checkWebsite returns the problem of a website's URL, or "".
func checkWebsite(website string) string {
	if isWebURL(website, "https") || isWebURL(website, "http") {
		return ""
	}
	return "use a URL that starts with https:// or http://, without user name and password"
}

// isWebURL reports whether a text is a URL with the scheme and a host, without
// user, white space and control characters.
func isWebURL(text, scheme string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == scheme && u.Hostname() != "" && u.User == nil && !strings.ContainsAny(text, " \"<>\\^`{|}")
}
