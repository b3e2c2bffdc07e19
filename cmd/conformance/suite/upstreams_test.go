//go:build conformance

package suite

import (
	"context"

	"mcpgateway/cmd/internal/stage"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

// startUpstreams starts the upstream servers and returns their URLs by project. The
// caller must call stop, also after an error.
func (r *runner) startUpstreams(ctx context.Context) (urls map[string]string, stop func(), err error) {
	server := upstreamtest.New(upstreamtest.Options{
		Name: "asking", Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: askingTools(), Record: -1,
	})
	stops := []func(){server.Close}
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	urls = map[string]string{}
	if urls[asking], err = server.Listen(ctx, "127.0.0.1:0"); err != nil {
		return nil, stop, err
	}
	working := newTaskServer()
	stops = append(stops, working.Close)
	if urls[tasks], err = working.Listen(ctx, "127.0.0.1:0"); err != nil {
		return nil, stop, err
	}
	catalog, url, err := startScript(ctx, r.folder, "skills.mjs")
	if err != nil {
		return nil, stop, err
	}
	stops = append(stops, catalog.Stop)
	urls[skills] = url
	binary, err := stage.Build(ctx, r.folder, "everything-server", fixturePackage)
	if err != nil {
		return nil, stop, err
	}
	for project, isStateless := range map[string]bool{stateful: false, stateless: true} {
		process, url, err := startFixture(ctx, binary, r.folder, isStateless)
		if err != nil {
			return nil, stop, err
		}
		stops = append(stops, process.Stop)
		urls[project] = url
	}
	return urls, stop, nil
}

// askingTools returns the tools that the suite of revision 2025-11-25 expects to
// request input. They do so as in revision 2026-07-28, with a result that requires
// input.
func askingTools() []upstreamtest.Tool {
	const username = `{"type":"object","properties":{"username":{"type":"string"}},"required":["username"]}`
	const defaults = `{"type":"object","properties":{` +
		`"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},` +
		`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`
	form := func(schema string) string {
		return `{"method":"elicitation/create","params":{"mode":"form","message":"Please fill in the form.","requestedSchema":` + schema + `}}`
	}
	return []upstreamtest.Tool{
		askingTool("test_elicitation", form(username)),
		askingTool("test_elicitation_sep1034_defaults", form(defaults)),
		askingTool("test_sampling", `{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Say something."}}],"maxTokens":100}}`),
	}
}

// askingTool returns a tool that sends one input request and returns the input.
func askingTool(name, request string) upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: `{"name":"` + name + `","description":"Requires input of the client.","inputSchema":{"type":"object"}}`,
		Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			params, err := rawjson.ParseObject(c.Params, rawjson.Lenient)
			if err != nil {
				return upstreamtest.Failure("The params must be an object.")
			}
			given := params.Object("inputResponses").Get("input")
			if given == nil {
				return upstreamtest.JSON(`{"resultType":"input_required","inputRequests":{"input":` + request + `},"requestState":"asked"}`)
			}
			if state, _ := params.String("requestState"); state != "asked" {
				return upstreamtest.Error(-32602, "Invalid request state.")
			}
			return upstreamtest.Text("Given: " + string(given))
		},
	}
}
