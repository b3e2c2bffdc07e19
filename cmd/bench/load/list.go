package load

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"mcpgateway/services/rawjson"
)

// maxPages is the maximum number of pages of a list.
const maxPages = 1000

// listPage is a response to tools/list and the values parsed from it.
type listPage struct {
	body   []byte
	tools  int
	cursor string // of the next page; empty on the last page
}

// List reads all pages of tools/list and returns the number of tools and the
// size of the responses in bytes. It doesn't parse a page that is the same as in
// the last List: with thousands of tools, parsing takes longer than reading.
func (c *Client) List() (tools, size int, err error) {
	cursor := ""
	for n := range maxPages {
		params, id := "", strconv.Itoa(n+1)
		if cursor != "" {
			params = `"cursor":` + string(rawjson.Quote(cursor))
		}
		response, err := c.conn.exchange(c.endpoint.request(c.session, id, "tools/list", "", params))
		if err != nil {
			return 0, 0, err
		}
		if n == len(c.pages) || response.StatusCode() != fasthttp.StatusOK || !bytes.Equal(response.Body(), c.pages[n].body) {
			page, err := readPage(response, id)
			if err != nil {
				return 0, 0, err
			}
			c.pages = append(c.pages[:n], page)
		}
		page := &c.pages[n]
		tools += page.tools
		size += len(page.body)
		if cursor = page.cursor; cursor == "" {
			return tools, size, nil
		}
	}
	return 0, 0, fmt.Errorf("tools/list has more than %d pages", maxPages)
}

func readPage(response *fasthttp.Response, id string) (listPage, error) {
	page, err := result(response, id)
	if err != nil {
		return listPage{}, err
	}
	list, err := rawjson.Elements(page.Get("tools"), rawjson.Lenient)
	if err != nil {
		return listPage{}, fmt.Errorf("tools of a page are not an array: %w", err)
	}
	cursor, _ := page.String("nextCursor")
	return listPage{body: bytes.Clone(response.Body()), tools: len(list), cursor: cursor}, nil
}
