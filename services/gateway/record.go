package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/redact"
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

// redactedPayload returns the redacted arguments and result of a call, for a project
// that records payloads. Members with the name of a configured header are
// secrets too, because headers contain credentials.
func redactedPayload(project *toolset.Snapshot, arguments, result []byte, err error) *models.CallPayload {
	var names []string
	for _, server := range project.Servers {
		for name := range server.Config.Headers {
			names = append(names, name)
		}
	}
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if err != nil {
		result = errorOf(err)
	}
	p := &models.CallPayload{}
	p.Arguments, p.ArgumentsCut = redact.JSON(arguments, activity.MaxPayload, names)
	p.Answer, p.AnswerCut = redact.JSON(result, activity.MaxPayload, names)
	return p
}

// errorOf returns an error as JSON: that of an upstream server unchanged, a
// fault with the code and message that the client received.
func errorOf(err error) []byte {
	var refused *RPCError
	switch {
	case errors.As(err, &refused):
		return refused.Raw
	case errors.Is(err, context.Canceled): // no response was sent
		return []byte("null")
	}
	f := fault.From(err)
	raw, err := json.Marshal(struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
	}{f.Code, f.Message})
	if err != nil {
		return []byte("null")
	}
	return raw
}
