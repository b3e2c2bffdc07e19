package gateway

import (
	"cmp"
	"context"
	"time"

	"mcpgateway/services/access/keys"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// metaClientInfo is the _meta key for the name of a stateless client.
const metaClientInfo = "io.modelcontextprotocol/clientInfo"

// stageOf returns the stage of a client's first connection that a method
// completes. ok is false for other methods.
func stageOf(method string) (stage keys.Stage, ok bool) {
	switch method {
	case "initialize", "server/discover":
		return keys.Initialize, true
	case "tools/list":
		return keys.ListTools, true
	case "tools/call":
		return keys.CallTool, true
	default:
		return 0, false
	}
}

// handleFirst handles the first request of a stage and records it for the page
// of the client's key. Only calls count if they fail.
func (g *Gateway) handleFirst(ctx context.Context, project *toolset.Snapshot, client *Client, stage keys.Stage, method string, params []byte, p *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	start := time.Now()
	info := clientInfoOf(client, p)
	result, err := g.dispatch(ctx, project, client, method, params, p, trace)
	step := keys.Step{At: time.Now(), Took: time.Since(start)}
	if stage == keys.CallTool {
		step.Tool, step.Failed = trace.Tool, err != nil || isToolError(result)
	}
	if stage == keys.CallTool && step.Tool != "" || err == nil {
		use := client.Principal.Use()
		use.RecordClient(info)
		use.Record(stage, step)
	}
	return result, err
}

// clientInfoOf returns the name and version in the params of initialize, or in
// the _meta of a stateless request.
func clientInfoOf(client *Client, p *rawjson.Object) keys.Client {
	info := p.Object("clientInfo")
	if client.Stateless() {
		info = p.Object("_meta").Object(metaClientInfo)
	}
	title, _ := info.String("title")
	name, _ := info.String("name")
	version, _ := info.String("version")
	return keys.Client{Name: clip(cmp.Or(title, name)), Version: clip(version)}
}
