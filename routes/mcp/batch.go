package mcp

import (
	"context"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// batchParallel is how many requests of a batch run at once.
const batchParallel = 8

// answerBatch answers a batch (MCP 2025-03-26): one answer for each request,
// in their order, and 202 when there is none.
func (e *Endpoint) answerBatch(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, messages []*message) error {
	event := web.EventOf(c)
	event.Method = "batch"
	ctx, requestID := c.UserContext(), event.RequestID
	answers := make([][]byte, len(messages))
	slots := make(chan struct{}, batchParallel)
	var running sync.WaitGroup
	for i, m := range messages {
		switch {
		case m.err != nil:
			answers[i] = m.err.append(nil, requestID)
		case !m.isRequest():
		case m.method == "initialize":
			answers[i] = invalidRequest(m.id, "initialize cannot be part of a batch").append(nil, requestID)
		default:
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				if client.SessionID != "" {
					defer e.running(client, m, cancel)()
				}
				result, err := e.handle(ctx, project, client, m, nil)
				if err != nil {
					answers[i] = errorAnswer(err, client, m.id).append(nil, requestID)
					return
				}
				answers[i] = appendResult(nil, m.id, result)
			})
		}
	}
	running.Wait()
	out := []byte{'['}
	for _, a := range answers {
		if a == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, a...)
	}
	if len(out) == 1 {
		return accepted(c)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(append(out, ']'))
}
