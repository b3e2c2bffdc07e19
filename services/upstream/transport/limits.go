package transport

import "time"

// Limits on the resources of one upstream. Sizes are in bytes.
const (
	// maxAnswerBytes is the maximum size of one response, as a JSON body or as
	// an event. It is also the maximum memory of one call.
	maxAnswerBytes = 10 << 20
	// maxEventBytes is the maximum size of an event that is not a response: a
	// notification or a request of the upstream.
	maxEventBytes = 1 << 20
	// maxErrorBytes is the maximum number of bytes read of an error response.
	maxErrorBytes = 64 << 10
	// maxReplies is the maximum number of concurrent replies on the stream of a
	// call.
	maxReplies = 4
	// maxSharedReplies is that on a stream that all calls of a session share. A
	// request beyond it is dropped, and then its call waits in vain.
	maxSharedReplies = 256
	// maxNotices is the maximum number of queued notifications for a slow
	// receiver of a shared stream. Further ones are dropped.
	maxNotices = 64
	// maxResumeFailures is the maximum number of consecutive failures to resume
	// a stream.
	maxResumeFailures = 3
	// MaxReplyTime is the timeout for sending a reply or a cancellation.
	MaxReplyTime = 5 * time.Second
	// MaxConnectTime is the timeout for detecting the era and starting a
	// session.
	MaxConnectTime = 30 * time.Second
	// maxAskWait is the maximum time that a call waits for its serverStream to
	// open.
	maxAskWait = 500 * time.Millisecond
	// maxAskIdleTime is the time after which an unused serverStream is closed.
	maxAskIdleTime = 30 * time.Second
	// maxStrayTime is the maximum time between a call and a notification on a
	// shared stream that may belong to it.
	maxStrayTime = 250 * time.Millisecond
	// steadyTime is the minimum duration of a stream without events that counts
	// as working.
	steadyTime        = 10 * time.Second
	defaultRetryTime  = time.Second // before a broken stream is resumed
	maxWatchRetryTime = time.Minute // maximum backoff of a notification stream
)
