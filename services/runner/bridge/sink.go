//go:build linux || darwin

package bridge

import "sync"

// Limits of the notifications that wait for a client to read its stream.
const (
	maxNotices     = 64
	maxNoticeBytes = 4 << 20
	// maxMessage is the maximum size of a notification or request of the program,
	// which is the gateway's.
	maxMessage = 1 << 20
)

// sink is the queue of a stream to a client. Notifications beyond its limits are
// lost. It is safe for concurrent use.
type sink struct {
	wake chan struct{} // has an element when messages wait

	mu       sync.Mutex
	messages [][]byte
	notices  int // number of waiting notifications
	bytes    int // their size
}

func newSink() *sink { return &sink{wake: make(chan struct{}, 1)} }

// notify adds a notification.
func (s *sink) notify(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notices == maxNotices || len(message) > maxMessage || s.bytes+len(message) > maxNoticeBytes {
		return
	}
	s.notices++
	s.bytes += len(message)
	s.add(message)
}

// put adds a message that is never lost. The caller limits their number.
func (s *sink) put(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(message)
}

func (s *sink) add(message []byte) {
	s.messages = append(s.messages, message)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the messages.
func (s *sink) take() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages := s.messages
	s.messages, s.notices, s.bytes = nil, 0, 0
	return messages
}
