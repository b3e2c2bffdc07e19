package playground

import (
	"strings"
	"testing"
	"time"
)

func TestProgressLimits(t *testing.T) {
	h := &progressRecorder{start: time.Now()}
	h.notify("notifications/message", []byte(`{"data":"no progress"}`))
	h.notify("notifications/progress", []byte(`{"progressToken":"playground","progress":1,"total":3,"message":"half way"}`))
	h.notify("notifications/progress", []byte(`{"progress":2}`))
	h.notify("notifications/progress", []byte(`broken`))
	got := h.take()
	if len(got) != 2 || got[0].Text != "1 of 3 half way" || got[1].Text != "2" {
		t.Errorf("steps = %+v", got)
	}
	for range maxProgress {
		h.notify("notifications/progress", []byte(`{"progress":9,"message":"`+strings.Repeat("x", 2*maxProgressText)+`"}`))
	}
	if got := h.take(); len(got) != maxProgress || len(got[2].Text) > maxProgressText+8 {
		t.Errorf("got %d steps, one of %d bytes", len(got), len(got[2].Text))
	}
}
