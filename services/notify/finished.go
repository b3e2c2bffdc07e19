package notify

import "strings"

const finishedResultsPrefix = "finished-results:"

// FinishedResults returns the topic of the results of a session that finished
// while its client was not connected. Sessions share topics by the prefix of
// their key, so there are few.
func FinishedResults(session string) Topic {
	return Topic(finishedResultsPrefix + session[:min(2, len(session))])
}

// IsFinishedResults reports whether FinishedResults returns t for any session.
func (t Topic) IsFinishedResults() bool { return strings.HasPrefix(string(t), finishedResultsPrefix) }
