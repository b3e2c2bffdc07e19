// Package icons fetches the icons of catalog rows and serves them as small
// images of the gateway, so that browsers load nothing from other hosts.
package icons

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Options are the parts of Icons. All except Tasks are required.
type Options struct {
	DB     *gorm.DB
	Client *http.Client // from services/egress
	Feed   Publisher
	Now    func() time.Time
	Log    *slog.Logger
	Tasks  *background.Tasks
}

// Icons has the icons of catalog rows. An icon is fetched in the background
// when Hash is first called with its URL; of several processes one fetches it.
// Only the hashes are in memory. A nil *Icons has no icons and fetches none. It
// is safe for concurrent use.
type Icons struct {
	Options
	queue  chan string   // URLs to fetch
	stored chan struct{} // signals that icons were stored and not yet published

	mu      sync.RWMutex
	known   map[key]state
	pending map[key]bool // queued, or being fetched

	decoding sync.Mutex // held while an image is decoded, which bounds the memory
}

// key identifies the URL of an icon.
type key [sha256.Size]byte

// state is the result of the last attempt to fetch an icon.
type state struct {
	hash    string // empty without an icon
	triedAt time.Time
}

// New returns the icons of a catalog without any in memory. Load must be called
// next, and Run fetches.
func New(o Options) *Icons {
	return &Icons{Options: o, queue: make(chan string, maxQueue), stored: make(chan struct{}, 1), known: map[key]state{}, pending: map[key]bool{}}
}

func keyOf(url string) key { return sha256.Sum256([]byte(url)) }

func (k key) String() string { return hex.EncodeToString(k[:]) }

// Hash returns the hash of the icon at a URL, for Image. It returns "" while
// there is none, and schedules fetching it: immediately if that was never
// tried, and 24 hours after a refusal. Only https URLs are fetched.
func (s *Icons) Hash(url string) string {
	if s == nil || !strings.HasPrefix(url, "https://") {
		return ""
	}
	k := keyOf(url)
	s.mu.RLock()
	known, tried := s.known[k]
	waits := s.pending[k]
	s.mu.RUnlock()
	if known.hash == "" && !waits && (!tried || s.isDue(known)) {
		s.schedule(k, url)
	}
	return known.hash
}

func (s *Icons) isDue(last state) bool { return !s.Now().Before(last.triedAt.Add(retryInterval)) }

// schedule queues a URL unless the queue is full.
func (s *Icons) schedule(k key, url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[k] {
		return
	}
	select {
	case s.queue <- url:
		s.pending[k] = true
	default:
	}
}

// Load reads the hashes of the stored icons.
func (s *Icons) Load(ctx context.Context) error {
	if s == nil {
		return nil
	}
	var rows []models.CatalogIcon
	if err := s.DB.WithContext(ctx).Select("url_hash", "hash", "tried_at").Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	known := make(map[key]state, len(rows))
	for _, row := range rows {
		var k key
		if n, err := hex.Decode(k[:], []byte(row.URLHash)); err != nil || n != len(k) {
			continue
		}
		known[k] = state{row.Hash, row.TriedAt}
	}
	s.mu.Lock()
	s.known = known
	s.mu.Unlock()
	return nil
}

// Changed is the subscriber of the change feed for icons that other processes
// stored.
func (s *Icons) Changed(ctx context.Context, topic notify.Topic) error {
	if !topic.IsCatalogIcons() {
		return nil
	}
	return s.Load(ctx)
}

// Image returns the PNG with a hash. It returns NOT_FOUND for an unknown hash.
func (s *Icons) Image(ctx context.Context, hash string) ([]byte, error) {
	if s == nil || !isHash(hash) {
		return nil, fault.NotFound("icon", "with this hash")
	}
	var row models.CatalogIcon
	err := s.DB.WithContext(ctx).Select("png").Where("hash = ?", hash).Limit(1).Find(&row).Error
	switch {
	case err != nil:
		return nil, fault.Internal(err)
	case len(row.PNG) == 0:
		return nil, fault.NotFound("icon", "with this hash")
	}
	return row.PNG, nil
}

// isHash reports whether s has the form of a stored hash.
func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 2*sha256.Size && strings.ToLower(s) == s
}
