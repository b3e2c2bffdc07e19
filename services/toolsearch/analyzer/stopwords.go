package analyzer

import "strings"

// stopWords don't describe a tool and are removed from tasks.
var stopWords = wordSet(`a about after all also am an and any are as at be because been before being both but by can could did do does doing
 down during each either else every few for from further had has have having he her here hers him his how however i if in into is it its
 itself just let like me might more most much must my myself near no nor not of off on once only or other our ours out over own per please
 s same she should so some such t than that the their theirs them then there these they this those through to too under until up upon us
 very was we were what when where whether which while who whom whose why will with within without would you your yours d ll m re ve don ` + // language:ignore
	`doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain etc via`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

// fillers are words of requests that say little about the tool.
var fillers = wordSet(`want need help looking tell know give provide could can help interested find searching wish wants needs wanted needed let
 trying try planning going able possible assist wondering curious hope hoping require required show information detail details thing things
 something someone anything`)

// IsStop reports whether an English word doesn't describe a tool.
func IsStop(word string) bool { return stopWords[word] }

// IsFiller reports whether an English word of a request says little about the
// tool.
func IsFiller(word string) bool { return fillers[word] }
