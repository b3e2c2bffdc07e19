package transport

import "time"

// Limits of what an upstream may cost the gateway. Sizes are bytes.
const (
	// maxAnswerBytes bounds one answer, as a JSON body or as the event that
	// holds it. It is what one call may keep in memory.
	maxAnswerBytes = 10 << 20
	// maxEventBytes bounds an event that is not an answer: a notification or
	// a request of the upstream.
	maxEventBytes = 1 << 20
	// maxErrorBytes bounds what is read of the body of a refused request.
	maxErrorBytes = 64 << 10
	// maxReplies is the number of requests of an upstream that are being
	// answered at once.
	maxReplies = 4
	// maxNotices is how many notifications wait for a slow receiver of a
	// shared stream; further ones are lost.
	maxNotices = 64
	// maxResumeFailures is how often in a row a broken stream may fail to
	// resume.
	maxResumeFailures = 3
	// MaxReplyTime bounds sending a reply or a cancellation.
	MaxReplyTime = 5 * time.Second
	// MaxConnectTime bounds finding out the era and starting a session.
	MaxConnectTime = 30 * time.Second
	// maxAskWait bounds how long a call waits for the stream on which its
	// upstream may ask.
	maxAskWait = 500 * time.Millisecond
	// maxAskIdleTime is how long that stream is held without a call.
	maxAskIdleTime = 30 * time.Second
	// maxStrayTime is the maximum time between a call and a notification on a
	// shared stream that may belong to it.
	maxStrayTime = 250 * time.Millisecond
	// steadyTime is how long a stream without events must hold to count as
	// one that works.
	steadyTime        = 10 * time.Second
	defaultRetryTime  = time.Second // before a broken stream is resumed
	maxWatchRetryTime = time.Minute // between attempts to hear an upstream
)
