package load

import (
	"fmt"
	"strconv"

	"mcpgateway/services/rawjson"
)

// maxPages bounds the pages of one list.
const maxPages = 1000

// List reads every page of tools/list and returns the number of tools and of
// bytes in the answers.
func (c *Client) List() (tools, size int, err error) {
	cursor := ""
	for id := 1; id <= maxPages; id++ {
		params := ""
		if cursor != "" {
			params = `"cursor":` + string(rawjson.Quote(cursor))
		}
		response, err := c.conn.exchange(c.endpoint.request(c.session, strconv.Itoa(id), "tools/list", "", params))
		if err != nil {
			return 0, 0, err
		}
		size += len(response.Body())
		page, err := result(response, strconv.Itoa(id))
		if err != nil {
			return 0, 0, err
		}
		list, err := rawjson.Elements(page.Get("tools"), rawjson.Lenient)
		if err != nil {
			return 0, 0, fmt.Errorf("the tools of a page are no array: %w", err)
		}
		tools += len(list)
		if cursor, _ = page.String("nextCursor"); cursor == "" {
			return tools, size, nil
		}
	}
	return 0, 0, fmt.Errorf("the list has more than %d pages", maxPages)
}
