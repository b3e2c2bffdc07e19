package upstream

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
	// maxExcerptBytes bounds what a message quotes of an upstream's words.
	maxExcerptBytes = 160
	// maxTokenBytes bounds a session id and an event id.
	maxTokenBytes = 1 << 10

	// maxListed is the number of tools of one server, and of prompts, of
	// resources and of resource templates; the rest is left out.
	maxListed = 5_000
	// maxListPages is the number of pages of one list.
	maxListPages = 500
	// maxListBytes bounds all definitions of one list together.
	maxListBytes = 32 << 20
	// maxIdentBytes bounds what identifies a prompt, resource or template, so
	// that it fits an index of either database.
	maxIdentBytes = 2_000
	// MaxWarnings bounds the warnings of one listing.
	MaxWarnings = 100
	// maxSchemaDepth is how deep header annotations are looked for.
	maxSchemaDepth = 64

	// defaultConcurrent is the number of calls to one server that this process
	// has in flight at once where the target sets none, and maxWaiting that of
	// those that wait for a turn.
	defaultConcurrent = 512
	maxWaiting        = 1024
	// maxFailures is how many exchanges in a row fail on the way before calls
	// are kept away from a server.
	maxFailures = 5

	// maxSessions is the number of sessions with one server. Beyond it the
	// session that was idle for longest makes room.
	maxSessions = 1_000
	// maxEnding is the number of sessions that are being ended at once.
	maxEnding = 32
	// maxReplies is the number of requests of an upstream that are being
	// answered at once.
	maxReplies = 4
	// maxNotices is how many notifications wait for a slow receiver of a
	// shared stream; further ones are lost.
	maxNotices = 64
	// maxResumeFailures is how often in a row a broken stream may fail to
	// resume.
	maxResumeFailures = 3
	// maxSubscribed is the number of resources of one server that are watched
	// for clients.
	maxSubscribed = 1_000
	// maxSettleRounds is how often in a row an upstream is told of one
	// resource.
	maxSettleRounds = 10
)

// Times that bound waiting for an upstream.
const (
	// defaultCallTime bounds a call whose target names no time-out.
	defaultCallTime = 60 * time.Second
	// maxConnectTime bounds finding out the era and starting a session.
	maxConnectTime = 30 * time.Second
	// maxDiscoverTime bounds the first probe, so that an older upstream that
	// never answers an unknown method is still asked in its own way.
	maxDiscoverTime = 10 * time.Second
	// maxReplyTime bounds sending a reply or a cancellation.
	maxReplyTime = 5 * time.Second
	// maxCloseTime bounds ending a session.
	maxCloseTime = 2 * time.Second
	// maxAskWait bounds how long a call waits for the stream on which its
	// upstream may ask.
	maxAskWait = 500 * time.Millisecond
	// maxAskIdleTime is how long that stream is held without a call.
	maxAskIdleTime = 30 * time.Second
	// maxStrayTime is the maximum time between a call and a notification on a
	// shared stream that may belong to it.
	maxStrayTime = 250 * time.Millisecond
	// maxLevelTime bounds setting the level of log messages before a call.
	maxLevelTime = 5 * time.Second
	// maxIdleTime is how long a session may lie unused.
	maxIdleTime = 30 * time.Minute
	// sweepInterval is how often idle sessions are looked for.
	sweepInterval = time.Minute
	// maxDescriptionAge is how old the description of an upstream without
	// sessions may be when its tools are listed.
	maxDescriptionAge = time.Minute

	// crowdedRetry is when a call that found no room should come again.
	crowdedRetry = time.Second
	// minProbeWait and maxProbeBackOff bound how long a server that does not
	// answer is left alone; the time doubles.
	minProbeWait    = time.Second
	maxProbeBackOff = 30 * time.Second
	// maxProbeWait is how long a call waits for another one to find out
	// whether the server can be reached again.
	maxProbeWait = time.Second

	// steadyTime is how long a stream without events must hold to count as
	// one that works.
	steadyTime = 10 * time.Second

	defaultRetryTime  = time.Second            // before a broken stream is resumed
	minRetryTime      = 100 * time.Millisecond // whatever the upstream asks for
	maxRetryTime      = 30 * time.Second
	maxWatchRetryTime = time.Minute // between attempts to hear an upstream
)
