package gateway_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/upstream"
)

func TestCallRecording(t *testing.T) {
	for name, tc := range map[string]struct {
		params   string
		response *upstream.Response
		err      error
		want     models.Call
	}{
		"result": {
			params: `{"name":"up__echo"}`, response: &upstream.Response{Result: []byte(`{"content":[]}`)},
			want: models.Call{Tool: "up__echo", Server: "up", RequestBytes: 19, ResponseBytes: 14, Outcome: models.CallOK},
		},
		"tool failure": {
			params: `{"name":"up__echo"}`, response: &upstream.Response{Result: []byte(`{"content":[],"isError" : true}`)},
			want: models.Call{Tool: "up__echo", Server: "up", RequestBytes: 19, ResponseBytes: 31, Outcome: models.CallToolError},
		},
		"isError in text": {
			params: `{"name":"up__echo"}`, response: &upstream.Response{Result: []byte(`{"content":[{"type":"text","text":"\"isError\":true"}],"isError":false}`)},
			want: models.Call{Tool: "up__echo", Server: "up", RequestBytes: 19, ResponseBytes: 71, Outcome: models.CallOK},
		},
		"an error of the upstream": {
			params: `{"name":"up__echo"}`, response: &upstream.Response{Error: []byte(`{"code":1,"message":"m"}`)},
			want: models.Call{Tool: "up__echo", Server: "up", RequestBytes: 19, ResponseBytes: 24, Outcome: models.CallFailed, Code: "UPSTREAM_ERROR"},
		},
		"timeout": {
			params: `{"name":"up__echo"}`, err: fault.Upstream(fault.CodeUpstreamTimeout, "slow"),
			want: models.Call{Tool: "up__echo", Server: "up", RequestBytes: 19, Outcome: models.CallFailed, Code: "UPSTREAM_TIMEOUT"},
		},
		"cancelled": {
			params: `{"name":"up__echo"}`, err: context.Canceled,
			want: models.Call{Tool: "up__echo", Server: "up", RequestBytes: 19, Outcome: models.CallCancelled},
		},
		"unknown": {
			params: `{"name":"up__none"}`, err: errors.New("not called"),
			want: models.Call{Tool: "up__none", RequestBytes: 19, Outcome: models.CallFailed, Code: "TOOL_NOT_FOUND"},
		},
		"no name": {params: `{}`, want: models.Call{RequestBytes: 2, Outcome: models.CallFailed, Code: "INVALID_PARAMETER"}},
	} {
		log := &calls{}
		g := gatewayWith(t, &caller{response: tc.response, err: tc.err}, log)
		c := client(v2511)
		c.RequestID = "r"
		_, _ = g.Handle(t.Context(), gatewaytest.Build(gatewaytest.Source("echo")), c, "tools/call", []byte(tc.params), nil)
		tc.want.RequestID = "r"
		if diff := cmp.Diff([]models.Call{tc.want}, log.all, cmpopts.IgnoreFields(models.Call{}, "At", "DurationUS", "ProjectID")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(log.all) == 1 && log.all[0].At.IsZero() {
			t.Errorf("%s: At is zero", name)
		}
	}
}
