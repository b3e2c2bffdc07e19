// Package bridge converts the messages of calls over the SSE bridge
// (specification, "SSE bridge").
package bridge

import "mcpgateway/services/rawjson"

// token is the progress token of calls without one.
const token = `"sse"`

// WithProgressToken returns the params of a call with a progress token. It
// returns invalid params unchanged, so that the gateway rejects them.
func WithProgressToken(params []byte) []byte {
	o, err := rawjson.ParseObject(params, rawjson.Strict)
	if err != nil {
		return params
	}
	meta := o.Object("_meta")
	switch {
	case meta == nil && (o.Get("_meta") == nil || rawjson.Kind(o.Get("_meta")) == 'n'):
		o.Set("_meta", []byte(`{"progressToken":`+token+`}`))
	case meta == nil || meta.Get("progressToken") != nil:
		return params
	default:
		meta.Set("progressToken", []byte(token))
		o.Set("_meta", meta.Bytes())
	}
	return o.Bytes()
}

// Progress returns the bridge's message for a progress notification, or
// nil for other notifications (specification, "Events").
func Progress(method string, params []byte) []byte {
	if method != "notifications/progress" {
		return nil
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	progress, total := o.Get("progress"), o.Get("total")
	message, _ := o.String("message")
	if message == "" {
		message = string(progress)
		if rawjson.IsNumber(total) {
			message += " of " + string(total)
		}
	}
	b := rawjson.AppendString([]byte(`{"type":"progress","message":`), message)
	if rawjson.IsNumber(progress) {
		b = append(append(b, `,"progress":`...), progress...)
	}
	if rawjson.IsNumber(total) {
		b = append(append(b, `,"total":`...), total...)
	}
	return append(b, '}')
}
