package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// Client is one connection to an endpoint. It has its own session if the
// revision has sessions. It is not safe for concurrent use.
type Client struct {
	endpoint Endpoint
	conn     *connection
	session  string
	call     template
	answer   template // the expected response, once one was read
	padding  string
	calls    int
	pages    []listPage
}

// Open connects to the endpoint and, with revision Sessions, initializes a
// session. number identifies the client in the texts that it sends.
func Open(ctx context.Context, e Endpoint, number int) (*Client, error) {
	conn, err := dial(ctx, e.Address)
	if err != nil {
		return nil, err
	}
	c := &Client{endpoint: e, conn: conn, padding: strings.Repeat("x", e.Padding)}
	if e.Revision != Stateless {
		if err := c.handshake(); err != nil {
			conn.close()
			return nil, fmt.Errorf("initialize at %s%s: %w", e.Address, e.Path, err)
		}
	}
	text := fmt.Appendf(nil, "%0*d", textLength, number)
	c.call, _ = newTemplate(e.call(c.session, text), []byte(strconv.Itoa(firstID)), text)
	if c.call.raw == nil {
		conn.close()
		return nil, errors.New("call request contains its id or text more than once")
	}
	return c, nil
}

// Close closes the connection.
func (c *Client) Close() { c.conn.close() }

func (c *Client) handshake() error {
	e := c.endpoint
	response, err := c.conn.exchange(e.request("", "1", "initialize", "",
		`"protocolVersion":"`+Sessions+`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}`))
	if err != nil {
		return err
	}
	if _, err := result(response, "1"); err != nil {
		return err
	}
	c.session = string(response.Header.Peek("Mcp-Session-Id"))
	response, err = c.conn.exchange(e.request(c.session, "", "notifications/initialized", "", ""))
	if err == nil && response.StatusCode() != fasthttp.StatusAccepted {
		err = fmt.Errorf("notifications/initialized: HTTP %d", response.StatusCode())
	}
	return err
}

// Call calls the tool with an id and a text that are unique to this call. It
// returns an error unless the response is the expected one.
func (c *Client) Call() error {
	if c.calls == maxCalls {
		return errors.New("client exceeded 900,000,000 calls")
	}
	c.call.number(c.calls)
	c.calls++
	response, err := c.conn.exchange(c.call.raw)
	if err != nil {
		return err
	}
	if c.answer.raw != nil {
		c.answer.copyFrom(&c.call)
		if response.StatusCode() == fasthttp.StatusOK && string(response.Body()) == string(c.answer.raw) {
			return nil
		}
	}
	id, text := c.call.slots()
	if err := checkEcho(response, string(id), string(text)+c.padding); err != nil {
		return err
	}
	c.answer, _ = newTemplate(append([]byte(nil), response.Body()...), id, text)
	return nil
}
