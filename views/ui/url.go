package ui

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// maxURL is the longest address that is put into a page, in bytes. Links that
// install a server into an editor carry its whole configuration.
const maxURL = 16 << 10

// deadURL stands for an address that is not put into a page.
const deadURL templ.SafeURL = "about:invalid"

// URL returns the address for an href or an action: a path or an http, https
// or mailto address, or a link that opens an editor (cursor, vscode). Anything
// else becomes about:invalid.
func URL(s string) templ.SafeURL {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURL || Hidden(s) || strings.ContainsAny(s, "\\\t\n") {
		return deadURL
	}
	if u.Scheme == "" {
		// "//host" would leave this origin without naming a scheme.
		if u.Host != "" || strings.HasPrefix(s, "//") {
			return deadURL
		}
		return templ.SafeURL(s)
	}
	if !slices.Contains([]string{"http", "https", "mailto", "cursor", "vscode"}, u.Scheme) {
		return deadURL
	}
	return templ.SafeURL(s)
}

// maxIconURL and maxIconData bound an icon's address and a data image, in bytes.
const (
	maxIconURL  = 2 << 10
	maxIconData = 10 << 20
)

// SafeIconURL returns s when it is safe in a src: an https address without
// credentials and fragment, or a base64 data image of the types png, jpeg, gif
// and webp. It is "" otherwise. SVG is refused: it can hold scripts. The
// content security policy of the pages loads data images only.
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

// safeIconURL checks every dynamic src of this package.
func safeIconURL(s string) string { return SafeIconURL(s) }

// safeData reports whether s is a data image that may be drawn.
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
