package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// marked renders a text in which a secret is marked, without other white space.
func marked(text, secret string) templ.Component {
	html := templ.EscapeString(text)
	if secret != "" {
		mark := templ.EscapeString(secret)
		html = strings.ReplaceAll(html, mark, `<span class="hl">`+mark+`</span>`)
	}
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, html)
		return err
	})
}
