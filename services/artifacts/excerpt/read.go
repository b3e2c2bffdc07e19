package excerpt

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/arguments"
	"mcpgateway/services/artifacts"
	"mcpgateway/services/artifacts/pages"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// MaxFind is the maximum length of a searched text in bytes.
const MaxFind = 1000

// request are the arguments of a read.
type request struct {
	id            string
	offset, limit int
	find          string
}

// parse reads the arguments. It returns INVALID_PARAMETER, and
// CONFLICTING_PARAMETERS for find with offset or limit.
func parse(raw []byte) (request, error) {
	q := request{limit: pages.DefaultLimit}
	given, err := arguments.Read(raw, "id", "offset", "limit", "find")
	if err != nil {
		return q, err
	}
	ok := false
	if q.id, ok = given.String("id"); !ok {
		return q, fault.Invalid("id must be a string: the id in the note of a result that was cut.")
	}
	if find := given.Get("find"); find != nil {
		if given.Get("offset") != nil || given.Get("limit") != nil {
			return q, arguments.Conflict("find cannot be combined with offset or limit. Search first, then read at the offset of a match.")
		}
		if q.find, ok = rawjson.String(find); !ok || q.find == "" || len(q.find) > MaxFind {
			return q, fault.Invalid("find must be a text of 1 to %d bytes.", MaxFind)
		}
		return q, nil
	}
	whole := func(name string, to *int, least, most int) error {
		value := given.Get(name)
		if value == nil {
			return nil
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(value)))
		if err != nil || n < least || n > most {
			return fault.Invalid("%s must be a whole number from %d to %d.", name, least, most)
		}
		*to = n
		return nil
	}
	if err := whole("offset", &q.offset, 0, artifacts.MaxAnswer); err != nil {
		return q, err
	}
	return q, whole("limit", &q.limit, 1, pages.MaxLimit)
}

// Read returns the raw CallToolResult for raw arguments of the tool that reads on:
// a page of a stored value and a note about the rest, or the matches of a text.
// It returns INVALID_PARAMETER and CONFLICTING_PARAMETERS for wrong arguments, and
// NOT_FOUND for a value that the owner doesn't have.
func Read(ctx context.Context, store Store, owner artifacts.Owner, tool string, raw []byte) ([]byte, error) {
	q, err := parse(raw)
	if err != nil {
		return nil, err
	}
	stored, err := store.Get(ctx, owner, q.id)
	if err != nil {
		return nil, err
	}
	if q.find != "" {
		return find(stored, tool, q.find), nil
	}
	byValue := isPaged(stored)
	read := pages.Text
	if byValue {
		read = pages.JSON
	}
	page, err := read(stored.Data, q.offset, q.limit)
	if err != nil {
		return nil, err
	}
	return pageResult(stored, tool, page), nil
}

// isPaged reports whether a stored value is read value by value.
func isPaged(a *artifacts.Artifact) bool {
	return a.Kind == models.ArtifactJSON && pages.IsPageable(a.Data)
}

// pageResult returns the result for a page. _meta has its place for programs.
func pageResult(a *artifacts.Artifact, tool string, page pages.Page) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s of %d bytes, from offset %d", kindWord(a.Kind), len(a.Data), page.Offset)
	if page.At != "" {
		fmt.Fprintf(&b, " at %s", page.At)
	}
	if page.Piece {
		b.WriteString(", a piece of a long string")
	}
	next := "null"
	if page.Next < 0 {
		b.WriteString(" to the end.]")
	} else {
		next = strconv.Itoa(page.Next)
		if len(page.Left) > 0 {
			fmt.Fprintf(&b, ". Left after this page: %s", leftWords(page.Left))
		}
		fmt.Fprintf(&b, `. Read on: %s {"id":%s,"offset":%d}]`, tool, rawjson.Quote(a.Name), page.Next)
	}
	var out [][]byte
	if page.Text != "" {
		out = append(out, textBlock(page.Text))
	}
	out = append(out, textBlock(b.String()))
	meta := fmt.Sprintf(`{"kind":%q,"bytes":%d,"offset":%d,"nextOffset":%s,"at":%s,"piece":%t}`, a.Kind, len(a.Data), page.Offset, next, rawjson.Quote(page.At), page.Piece)
	result := append(append([]byte(`{"content":[`), bytes.Join(out, []byte{','})...), `],"_meta":{"`+metaPage+`":`...)
	return append(append(result, meta...), "}}"...)
}

// metaPage is the _meta key of the place of a page.
const metaPage = "gateway/page"
