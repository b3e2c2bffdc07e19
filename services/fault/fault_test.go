package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
)

func TestZeroKindIsInternal(t *testing.T) {
	var f fault.Fault
	if f.Kind != fault.KindInternal {
		t.Errorf("zero Kind = %v, want KindInternal", f.Kind)
	}
}

func TestPlainErrorBecomesInternal(t *testing.T) {
	cause := errors.New("dial tcp 10.0.0.1:5432: password is hunter2")
	for _, f := range []*fault.Fault{fault.From(cause), fault.Internal(cause), fault.From(fmt.Errorf("wrapped: %w", cause))} {
		if f.Kind != fault.KindInternal || f.Code != fault.CodeInternal || f.Message != "Internal error. Retry later." {
			t.Errorf("got %+v", f)
		}
		if !errors.Is(f, cause) {
			t.Error("the cause is not wrapped")
		}
	}
}

func TestFaultInWrappedErrors(t *testing.T) {
	inner := fault.NotFound("project", "p")
	for _, err := range []error{inner, fmt.Errorf("read: %w", inner), errors.Join(errors.New("x"), inner), fault.Internal(inner)} {
		if fault.From(err) != inner || !fault.Is(err, fault.CodeNotFound) || fault.Is(err, fault.CodeConflict) {
			t.Errorf("%v: got %+v", err, fault.From(err))
		}
	}
	for _, err := range []error{nil, errors.New("x"), context.Canceled} {
		if fault.Is(err, fault.CodeInternal) {
			t.Errorf("Is(%v, CodeInternal) = true, want false", err)
		}
	}
}

func TestBecauseCopiesFault(t *testing.T) {
	f, cause := fault.Invalid("no such thing"), errors.New("why")
	g := f.Because(cause)
	if f.Cause != nil || g == f || !errors.Is(g, cause) || g.Message != f.Message {
		t.Errorf("%+v became %+v", f, g)
	}
	if f.Error() != "no such thing" || g.Error() != "no such thing: why" {
		t.Errorf("Error() = %q and %q", f, g)
	}
}

func TestConstructors(t *testing.T) {
	for _, tc := range []struct {
		got     *fault.Fault
		kind    fault.Kind
		code    fault.Code
		message string
	}{
		{fault.NotFound("tool", `a"b`), fault.KindNotFound, fault.CodeNotFound, `There is no tool "a\"b".`},
		{fault.Conflict("n is %d", 1), fault.KindConflict, fault.CodeConflict, "n is 1"},
		{fault.Invalid("100%% of %s", "x"), fault.KindInvalid, fault.CodeInvalidParameter, "100% of x"},
		{fault.Unauthorized(), fault.KindUnauthorized, fault.CodeUnauthorized, "Valid credentials are required."},
		{fault.Forbidden("no %s", "way"), fault.KindForbidden, fault.CodeForbidden, "no way"},
		{fault.Upstream(fault.CodeUpstreamTimeout, "slow"), fault.KindUpstream, fault.CodeUpstreamTimeout, "slow"},
		{fault.Cancelled(nil), fault.KindCancelled, fault.CodeCancelled, "The request was cancelled."},
		{fault.Validation(map[string]string{"a.b": "use 1"}), fault.KindValidation, fault.CodeValidationFailed, "a.b: use 1"},
		{fault.Validation(map[string]string{"a": "x", "b": "y"}), fault.KindValidation, fault.CodeValidationFailed, "Some fields are invalid."},
		{fault.Validation(nil), fault.KindValidation, fault.CodeValidationFailed, "Some fields are invalid."},
	} {
		want := &fault.Fault{Kind: tc.kind, Code: tc.code, Message: tc.message, Fields: tc.got.Fields}
		if d := cmp.Diff(want, tc.got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}
