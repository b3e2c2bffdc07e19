package public

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// pageRows is the number of rows on a page. It fills two, three and four
// columns of cards.
const pageRows = 24

// maxPage is the highest page number that is read from a URL.
const maxPage = 100_000

// moved is the notice on the first page, shown in place of a page after the end.
var moved = public.Notice{Tone: ui.Warn, Text: "The catalog changed. Back to page 1."}

// pageNumber returns the number of the requested page, from 1.
func pageNumber(c *fiber.Ctx) int {
	n, err := strconv.Atoi(c.Query("page"))
	if err != nil || n < 1 || n > maxPage {
		return 1
	}
	return n
}

// expired returns a notice if the request has a cursor: the links of older pages
// had one.
func expired(c *fiber.Ctx) []public.Notice {
	if c.Query("cursor") == "" {
		return nil
	}
	return []public.Notice{{Tone: ui.Warn, Text: "That link expired. Back to page 1."}}
}

// warned returns the notices of a query's warnings.
func warned(warnings []fault.Warning) []public.Notice {
	var notices []public.Notice
	for _, w := range warnings {
		notices = append(notices, public.Notice{Text: w.Message})
	}
	return notices
}

// pageURL returns the URL of a page of a list. Empty values are left out.
func pageURL(path string, values url.Values, number int) string {
	given := url.Values{}
	for name, v := range values {
		if v[0] != "" {
			given[name] = v
		}
	}
	if number > 1 {
		given.Set("page", strconv.Itoa(number))
	}
	if len(given) == 0 {
		return path
	}
	return path + "?" + given.Encode()
}

// numbered returns the links to the pages of a list of total rows, of which one
// is shown.
func numbered(number, total int, link func(number int) string) public.Pages {
	last := (total + pageRows - 1) / pageRows
	if last < 2 {
		return public.Pages{}
	}
	from := (number - 1) * pageRows
	p := public.Pages{Shown: fmt.Sprintf("%s–%s of %s", ui.Count(from+1), ui.Count(min(from+pageRows, total)), ui.Count(total))}
	gap := false
	for n := 1; n <= last; n++ {
		near := n >= number-1 && n <= number+1
		if n != 1 && n != last && !near && !(number <= 2 && n <= 3) && !(number >= last-1 && n >= last-2) {
			gap = true
			continue
		}
		p.Links = append(p.Links, public.PageLink{Number: n, URL: link(n), Current: n == number, Next: n == number+1, Previous: n == number-1, Gap: gap})
		gap = false
	}
	return p
}
