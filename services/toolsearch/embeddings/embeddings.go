// Package embeddings compares tasks with tools by the vectors of a model at an
// endpoint that the operator configures (OpenAI API, "Create embeddings").
package embeddings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/services/background"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolsearch/analyzer"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Projects are the current projects. Implemented by toolset.Directory.
type Projects interface {
	All() []*toolset.Snapshot
}

// Options are the parts of Embeddings. All except URL, Key and Tasks are required.
type Options struct {
	URL      string // base of the API; empty turns embeddings off
	Model    string
	Key      secrets.Value // bearer token, or zero
	Client   *http.Client  // from services/egress
	DB       *gorm.DB
	Feed     Publisher
	Projects Projects
	Now      func() time.Time
	Log      *slog.Logger
	Tasks    *background.Tasks
}

// Embeddings has the vectors of the visible tools of all projects. One process
// requests and stores them, and every process has them in memory. Their text
// leaves the gateway only if embeddings are on. It is safe for concurrent use.
type Embeddings struct {
	Options
	changed chan struct{} // signals Run
	missing chan struct{} // signals Compute
	queries *queries
	logged  throttle

	mu         sync.RWMutex
	vectors    map[key]vector
	dimensions int // of the last vector
	bytes      int
	limit      int // maximum of bytes

	counts counters
}

// key identifies a text.
type key [sha256.Size]byte

func (k key) String() string { return hex.EncodeToString(k[:]) }

// counters count tasks by result since the start.
type counters struct{ used, late, failed, skipped atomic.Int64 }

// New returns the embeddings of an endpoint without any in memory.
func New(o Options) *Embeddings {
	return &Embeddings{
		Options: o, changed: make(chan struct{}, 1), missing: make(chan struct{}, 1), queries: newQueries(),
		vectors: map[key]vector{}, limit: MaxMemory,
	}
}

// On reports whether an endpoint is configured.
func (e *Embeddings) On() bool { return e.URL != "" }

// Stats are the state of embeddings.
type Stats struct {
	Vectors, Bytes              int   // in memory
	Used, Late, Failed, Skipped int64 // tasks since the start, by result
}

// Stats returns the current state. Late tasks got their vector after the
// deadline; skipped ones were not sent.
func (e *Embeddings) Stats() Stats {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return Stats{
		Vectors: len(e.vectors), Bytes: e.bytes,
		Used: e.counts.used.Load(), Late: e.counts.late.Load(), Failed: e.counts.failed.Load(), Skipped: e.counts.skipped.Load(),
	}
}

// text is the text of a tool, with its key.
type text struct {
	key  key
	text string
}

// textKey is the key of a tool's text key.
type textKey struct{}

// keyOf returns the key of a tool's text.
func keyOf(tool *toolset.Tool) key {
	return toolset.Memo(tool, textKey{}, func() key { return sha256.Sum256([]byte(textOf(tool))) })
}

// textOf returns the text that is sent of a tool, at most 2,000 bytes.
func textOf(tool *toolset.Tool) string { return analyzer.Clip(tooltext.Meaning(tool), maxTextBytes) }

// current returns the tools of all projects with different texts, in the order of
// the projects and their tools.
func (e *Embeddings) current() (order []key, tools map[key]*toolset.Tool) {
	tools = map[key]*toolset.Tool{}
	if !e.On() {
		return nil, tools
	}
	for _, project := range e.Projects.All() {
		for _, tool := range toolset.ForModels(project.Tools) {
			k := keyOf(tool)
			if _, known := tools[k]; !known {
				tools[k] = tool
				order = append(order, k)
			}
		}
	}
	return order, tools
}

// Changed is the subscriber of the change feed for tools, and for vectors that
// other processes stored.
func (e *Embeddings) Changed(_ context.Context, topic notify.Topic) error {
	if _, ok := topic.ToolsetOf(); ok || topic.IsEmbeddings() {
		signal(e.changed)
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
