package gateway

import (
	"bytes"
	"context"
	"errors"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// callOf returns the log entry of a finished tool call. asked is the size of
// its params in bytes.
func callOf(project *toolset.Snapshot, client *Client, trace *RequestInfo, start time.Time, asked int, result []byte, err error) models.Call {
	call := models.Call{
		At: start.UTC(), ProjectID: project.Project.ID, Principal: client.Principal.ID(),
		Tool: trace.Tool, Server: trace.Server, DurationUS: time.Since(start).Microseconds(),
		RequestBytes: int64(asked), ResponseBytes: int64(len(result)), Outcome: models.CallOK, RequestID: client.RequestID,
		UserID: client.Principal.UserID(),
	}
	if t := project.Toolsets[client.Principal.ToolsetID()]; t != nil {
		call.Toolset = t.Slug
	}
	var refused *RPCError
	switch {
	case errors.Is(err, context.Canceled):
		call.Outcome = models.CallCancelled
	case errors.As(err, &refused):
		call.Outcome, call.Code, call.ResponseBytes = models.CallFailed, string(fault.CodeUpstreamError), int64(len(refused.Raw))
	case err != nil:
		call.Outcome, call.Code = models.CallFailed, string(fault.From(err).Code)
	case isToolError(result):
		call.Outcome = models.CallToolError
	}
	return call
}

var isError = []byte(`"isError"`)

// isToolError reports whether a tool result has isError true. It parses only
// results that contain the name of the member.
func isToolError(result []byte) bool {
	if !bytes.Contains(result, isError) {
		return false
	}
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	return err == nil && rawjson.Kind(o.Get("isError")) == 't'
}
