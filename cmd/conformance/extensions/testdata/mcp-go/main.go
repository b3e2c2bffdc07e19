// A server and a client of mcp-go, as two commands:
//
//	mcp-go serve       an MCP server with a tool that asks; prints READY and its URL
//	mcp-go visit URL   lists the tools and calls the server's tool, and prints both
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		err = serve()
	case len(os.Args) == 4 && os.Args[1] == "visit":
		err = visit(context.Background(), os.Args[2], os.Args[3])
	default:
		err = fmt.Errorf("usage: %s serve | visit URL TOOL", os.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves both protocol generations. The library refuses questions of a tool in
// 2026-07-28.
func serve() error {
	s := server.NewMCPServer("mcp-go", "1.0.0", server.WithToolCapabilities(true), server.WithElicitation())
	s.AddTool(mcp.NewTool("name", mcp.WithDescription("Asks for a name.")), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		asked := mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: "What is your name?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
		}}}
		answer, err := s.RequestElicitation(ctx, asked)
		if err != nil {
			return nil, err
		}
		content, _ := answer.Content.(map[string]any)
		return mcp.NewToolResultText(fmt.Sprint(content["name"])), nil
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("READY http://%s/mcp\n", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s))
	return http.Serve(listener, mux)
}

// visit calls a tool without arguments.
func visit(ctx context.Context, url, tool string) error {
	wire, err := transport.NewStreamableHTTP(url)
	if err != nil {
		return err
	}
	c := client.NewClient(wire)
	if err := c.Start(ctx); err != nil {
		return err
	}
	defer c.Close()
	opening := mcp.InitializeRequest{}
	opening.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	opening.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1.0.0"}
	if _, err := c.Initialize(ctx, opening); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	names := []string{}
	for _, t := range listed.Tools {
		names = append(names, t.Name)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name = tool
	result, err := c.CallTool(ctx, call)
	if err != nil {
		return fmt.Errorf("tools/call: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"tools": names, "result": result})
}
