package sandbox_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/services/sandbox"
)

func TestCutJSON(t *testing.T) {
	const whole = `{"a":[1,2,{"b":"a long string with \"quotes\" and é"}],"c":{"d":[[[["deep"]]]]},"e":12345}`
	for limit := 48; limit <= len(whole); limit++ {
		cut := sandbox.CutJSON([]byte(whole), limit)
		if !json.Valid(cut) || len(cut) > limit {
			t.Errorf("limit %d: %d bytes, valid %v: %s", limit, len(cut), json.Valid(cut), cut)
		}
	}
	const limit = 1 << 10
	array := sandbox.CutJSON([]byte("["+strings.Repeat(`{"k":"value"},`, 1000)+`0]`), limit)
	var items []any
	if err := json.Unmarshal(array, &items); err != nil || len(items) < 40 || !strings.Contains(string(array), "… cut") {
		t.Errorf("%d items (%v): %s", len(items), err, array)
	}
	deep := sandbox.CutJSON([]byte(strings.Repeat("[", 9000)+strings.Repeat("]", 9000)), limit)
	if !json.Valid(deep) || len(deep) > limit {
		t.Errorf("deep: %d bytes, valid %v", len(deep), json.Valid(deep))
	}
}
