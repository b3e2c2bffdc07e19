package upstreamtest

import "mcpgateway/services/rawjson"

// OpenURL returns the response that requires the user to open a URL: a -32042 error
// of MCP 2025-11-25, or in the stateless era an input request with the name id.
func (c *Call) OpenURL(id, url, message string) Result {
	params := rawjson.AppendString([]byte(`{"mode":"url","url":`), url)
	params = rawjson.AppendString(append(params, `,"message":`...), message)
	if c.Era.Stateless() {
		result := rawjson.AppendString([]byte(`{"resultType":"input_required","inputRequests":{`), id)
		result = append(append(result, `:{"method":"elicitation/create","params":`...), params...)
		return JSON(string(append(result, `}}}}`...)))
	}
	params = append(rawjson.AppendString(append(params, `,"elicitationId":`...), id), '}')
	return Result{Err: &RPCError{Code: -32042, Message: "open a URL first", Data: append(append([]byte(`{"elicitations":[`), params...), `]}`...)}}
}

// Input returns the raw response of the client to the input request with the
// name, or nil.
func (c *Call) Input(name string) []byte { return c.params.Object("inputResponses").Get(name) }

// NotifySession sends a notification on the open streams of one session and
// returns their number. Other sessions don't receive it.
func (s *Server) NotifySession(session, method string, params []byte) int {
	return s.notify(func(t *stream) bool { return t.session != nil && t.session.id == session }, method, params)
}
