package mcp

import (
	"context"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/membudget"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

const (
	// batchParallel is the maximum number of concurrent requests of a batch.
	batchParallel = 8
	// maxBatchResults is the maximum total size of a batch's responses in bytes.
	maxBatchResults = 16 << 20
)

// batch is a batch in progress.
type batch struct {
	endpoint *Endpoint
	project  *toolset.Snapshot
	client   *gateway.Client
	errors   web.ErrorContext
	memory   *membudget.Batch
	tasks    *background.Tasks
}

// respondBatch responds to a batch (MCP 2025-03-26): one response per request,
// in order, or 202 if there are no requests. Results beyond maxBatchResults
// become RESULT_TOO_LARGE errors.
func (e *Endpoint) respondBatch(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, messages []*message) error {
	event := web.EventOf(c)
	event.Method = "batch"
	b := &batch{endpoint: e, project: project, client: client, errors: event.Errors(), tasks: event.Background, memory: e.Results.NewBatch(maxBatchResults)}
	parts := join(b.run(c.UserContext(), messages))
	if len(parts) == 0 {
		b.memory.Release()
		return accepted(c)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return web.SendPartsThen(c, b.memory.Release, parts...)
}

// run returns the parts of the response to each message. Messages without a
// response have none.
func (b *batch) run(ctx context.Context, messages []*message) [][][]byte {
	answers := make([][][]byte, len(messages))
	slots := make(chan struct{}, batchParallel)
	var running sync.WaitGroup
	for i, m := range messages {
		switch {
		case m.err != nil:
			answers[i] = [][]byte{m.err.append(nil, b.errors)}
		case !m.isRequest():
		case m.method == "initialize":
			answers[i] = [][]byte{invalidRequest(m.id, "initialize cannot be part of a batch. Send it separately.").append(nil, b.errors)}
		default:
			slots <- struct{}{}
			running.Go(b.tasks.Func("batch request", func() {
				defer func() { <-slots }()
				err := b.tasks.Try("batch request", func() error { answers[i] = b.respond(ctx, m); return nil })
				if err != nil {
					answers[i] = [][]byte{newErrorResponse(fault.Internal(err), b.client, m.id).append(nil, b.errors)}
				}
			}))
		}
	}
	running.Wait()
	return answers
}

// respond returns the parts of the response to one request.
func (b *batch) respond(parent context.Context, m *message) [][]byte {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	if b.client.SessionID != "" {
		defer b.endpoint.running(b.client, m, cancel)()
	}
	memory := b.memory.Result()
	client := *b.client // every request has its own memory
	client.Memory = memory
	result, err := b.endpoint.handle(ctx, b.project, &client, m, nil)
	var parts [][]byte
	switch {
	case err != nil:
		parts = [][]byte{newErrorResponse(err, b.client, m.id).append(nil, b.errors)}
	case len(result) < sentInParts:
		parts = [][]byte{appendResult(nil, m.id, result)}
	default:
		parts = [][]byte{appendResultHead(nil, m.id), result, {'}'}}
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if err := memory.Keep(int64(size)); err != nil {
		return [][]byte{newErrorResponse(err, b.client, m.id).append(nil, b.errors)}
	}
	return parts
}

// join returns the parts of the JSON array of responses, or none if there are
// no responses.
func join(answers [][][]byte) (parts [][]byte) {
	separator := []byte{'['}
	for _, answer := range answers {
		if len(answer) > 0 {
			parts = append(append(parts, separator), answer...)
			separator = []byte{','}
		}
	}
	if len(parts) > 0 {
		parts = append(parts, []byte{']'})
	}
	return parts
}
