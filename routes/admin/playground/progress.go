package playground

import (
	"strings"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

// maxProgress is the maximum number of progress notifications shown for a call, and
// maxProgressText the maximum length of each, in bytes.
const (
	maxProgress     = 50
	maxProgressText = 500
)

// progressRecorder collects the progress notifications of a tool call (MCP 2025-11-25,
// "Progress").
type progressRecorder struct {
	start time.Time
	show  func(admin.TryProgress) // called with each collected step; may be nil

	mu    sync.Mutex
	steps []admin.TryProgress
}

func (h *progressRecorder) notify(method string, params []byte) {
	if method != "notifications/progress" {
		return
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return
	}
	text := strings.TrimSpace(string(o.Get("progress")))
	if total := strings.TrimSpace(string(o.Get("total"))); total != "" {
		text += " of " + total
	}
	if message, _ := o.String("message"); message != "" {
		text = strings.TrimSpace(text + " " + message)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.steps) < maxProgress {
		step := admin.TryProgress{MS: time.Since(h.start).Milliseconds(), Text: ui.Beginning(text, maxProgressText)}
		h.steps = append(h.steps, step)
		if h.show != nil {
			h.show(step)
		}
	}
}

func (h *progressRecorder) take() []admin.TryProgress {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.steps
}
