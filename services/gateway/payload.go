package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/redact"
	"mcpgateway/services/toolset"
)

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
