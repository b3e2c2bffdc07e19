package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// Name renders a name that may break after _ / and . only, without spaces at
// these places.
func Name(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		parts := breakable(name)
		for i, part := range parts {
			parts[i] = templ.EscapeString(part)
		}
		_, err := io.WriteString(w, strings.Join(parts, "<wbr>"))
		return err
	})
}

// breakable returns the parts of a name between which a line may break.
func breakable(name string) (parts []string) {
	begin := 0
	for i := 1; i < len(name); i++ {
		if strings.IndexByte("_/.", name[i-1]) >= 0 && strings.IndexByte("_/.", name[i]) < 0 {
			parts, begin = append(parts, name[begin:i]), i
		}
	}
	return append(parts, name[begin:])
}
