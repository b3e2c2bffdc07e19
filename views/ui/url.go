package ui

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// maxURL is the maximum length of a URL in a page, in bytes. Links that install a
// server in an editor contain its whole configuration.
const maxURL = 16 << 10

// blockedURL replaces a URL that is not allowed in a page.
const blockedURL templ.SafeURL = "about:invalid"

// URL returns s for an href or action if it is a path, an http, https or mailto URL,
// or a link that opens an editor (cursor, vscode). Otherwise it returns
// about:invalid.
func URL(s string) templ.SafeURL {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURL || Hidden(s) || strings.ContainsAny(s, "\\\t\n") {
		return blockedURL
	}
	if u.Scheme == "" {
		// "//host" would leave this origin without naming a scheme.
		if u.Host != "" || strings.HasPrefix(s, "//") {
			return blockedURL
		}
		return templ.SafeURL(s)
	}
	if !slices.Contains([]string{"http", "https", "mailto", "cursor", "vscode"}, u.Scheme) {
		return blockedURL
	}
	return templ.SafeURL(s)
}

// maxIconURL and maxIconData are the maximum lengths of an icon URL and a data
// image, in bytes.
const (
	maxIconURL  = 2 << 10
	maxIconData = 10 << 20
)

// SafeIconURL returns s if it is safe in a src: an https URL without credentials and
// fragment, or a base64 data image of the types png, jpeg, gif and webp. Otherwise
// it returns "". SVG is rejected because it can contain scripts. The content
// security policy of the pages allows only data images.
func SafeIconURL(s string) string {
	if safeData(s) {
		return s
	}
	if len(s) > maxIconURL || Hidden(s) || strings.ContainsAny(s, "\\\t\n ") {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return ""
	}
	return s
}

// iconPath returns s if it is the path of an icon that the gateway serves.
// Otherwise it returns "".
func iconPath(s string) string {
	name, ok := strings.CutPrefix(s, "/icons/")
	if hash, png := strings.CutSuffix(name, ".png"); !ok || !png || strings.Trim(hash, "0123456789abcdef") != "" || hash == "" {
		return ""
	}
	return s
}

// safeIconURL checks every dynamic src of this package.
func safeIconURL(s string) string { return SafeIconURL(s) }

// safeData reports whether s is an allowed data image.
func safeData(s string) bool {
	if len(s) > maxIconData {
		return false
	}
	for _, kind := range []string{"png", "jpeg", "gif", "webp"} {
		if data, ok := strings.CutPrefix(s, "data:image/"+kind+";base64,"); ok {
			_, err := base64.StdEncoding.DecodeString(data)
			return err == nil && data != ""
		}
	}
	return false
}
