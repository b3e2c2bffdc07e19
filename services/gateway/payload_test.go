package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/upstream"
)

func TestPayloadRecording(t *testing.T) {
	long := strings.Repeat("x", activity.MaxPayload)
	for name, tc := range map[string]struct {
		params   string
		response *upstream.Response
		err      error
		want     models.CallPayload
	}{
		"result": {
			params: `{"name":"up__echo","arguments":{"text": "hi","password":"hunter2","X-Team":"red"}}`, response: &upstream.Response{Result: []byte(`{"content":[{"type":"text","text":"Bearer abcdef123"}]}`)},
			want: models.CallPayload{Arguments: `{"text":"hi","password":"[redacted]","X-Team":"[redacted]"}`, Answer: `{"content":[{"type":"text","text":"Bearer [redacted]"}]}`},
		},
		"no arguments": {
			params: `{"name":"up__echo"}`, response: &upstream.Response{Result: []byte(`{"content":[]}`)},
			want: models.CallPayload{Arguments: `{}`, Answer: `{"content":[]}`},
		},
		"long": {
			params: `{"name":"up__echo","arguments":{"a":"` + long + `"}}`, response: &upstream.Response{Result: []byte(`{"a":"` + long + `"}`)},
			want: models.CallPayload{Arguments: `{"a":"` + long[:activity.MaxPayload-6], Answer: `{"a":"` + long[:activity.MaxPayload-6], ArgumentsCut: true, AnswerCut: true},
		},
		"an error of the upstream": {
			params: `{"name":"up__echo"}`, response: &upstream.Response{Error: []byte(`{"code":1,"message":"token=abc"}`)},
			want: models.CallPayload{Arguments: `{}`, Answer: `{"code":1,"message":"token=[redacted]"}`},
		},
		"timeout": {
			params: `{"name":"up__echo"}`, err: fault.Upstream(fault.CodeUpstreamTimeout, "slow").Because(errors.New("inner")),
			want: models.CallPayload{Arguments: `{}`, Answer: `{"code":"UPSTREAM_TIMEOUT","message":"slow"}`},
		},
		"cancelled": {params: `{"name":"up__echo"}`, err: context.Canceled, want: models.CallPayload{Arguments: `{}`, Answer: `null`}},
	} {
		for _, recorded := range []bool{true, false} {
			log := &calls{}
			src := gatewaytest.Source("echo")
			src.Project.RecordPayloads, src.Project.RetentionPayloads = recorded, 1
			src.Servers[0].Headers = models.StringMap{"X-Team": "sealed"}
			_, _ = gatewayWith(t, &caller{response: tc.response, err: tc.err}, log).Handle(t.Context(), gatewaytest.Build(src), client(v2511), "tools/call", []byte(tc.params), nil)
			if len(log.all) != 1 {
				t.Fatalf("%s: %d calls", name, len(log.all))
			}
			switch got := log.all[0].Payload; {
			case !recorded && got != nil:
				t.Errorf("%s: recorded although disabled: %+v", name, got)
			case recorded && (got == nil || *got != tc.want):
				t.Errorf("%s: recorded %.200v, want %.200v", name, got, tc.want)
			}
		}
	}
}
