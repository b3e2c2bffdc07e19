// Package hints names the likely mistakes in code that ran, and their fixes.
// Everything in it is a function of a run's facts.
package hints

import (
	"regexp"
	"slices"

	"mcpgateway/services/codemode/blocks"
	"mcpgateway/services/sandbox"
)

// maxMatches is the maximum number of places in the code that one rule checks.
const maxMatches = 50

// Max is the maximum number of hints of a run.
const Max = 3

// Tool is a tool that the code could call.
type Tool struct{ Full, Alias, Name string } // Name is without the alias

// Call is the receipt of one call that the code made.
type Call struct {
	Tool  string // full name, or "fetch"
	Error string // of a call that failed, not of one that the end of the run stopped
}

// Run contains the facts of a run that ended.
type Run struct {
	Code   string
	Tools  func() []Tool // called only for a run with signs of a mistake
	Fetch  bool          // fetch is allowed
	Calls  []Call
	Seen   *sandbox.Facts    // nil if unknown
	Error  *sandbox.RunError // nil if the run succeeded
	Result string            // JSON, or empty
	Logs   []string
}

// Of returns the hints of a run as lines of text, the cause first. A run without
// a known mistake has none.
func Of(r Run) []string {
	if r.isPlain() {
		return nil
	}
	p := newProgram(&r)
	p.environment()
	p.names()
	p.awaits()
	p.values()
	p.failures()
	p.undefined()
	p.notFunction()
	p.returned()
	return p.found[:min(len(p.found), Max)]
}

// program is the code of a run with its facts.
type program struct {
	*Run
	*source
	tools        []Tool
	catalog      *catalog
	calls        []call
	bound        map[string]int // variable name to the index of the call whose value it got
	unpackedFrom map[string]int // variable name to the index of the call whose member it got
	found        []string
	matched      map[*regexp.Regexp]bool // results of has

	named     bool         // a hint corrects a name
	valued    bool         // a hint describes a returned value
	unawaited map[int]bool // indexes of calls
	eachs     [][2]int     // offsets of the arguments of each forEach(async …)
}

// call is a receipt with the facts of the same call.
type call struct {
	Call
	seen  sandbox.CallFact
	begin int // offset of the call expression in the code; -1 if unknown
}

func newProgram(r *Run) *program {
	tools := r.Tools()
	p := &program{Run: r, source: newSource(r.Code), tools: tools, catalog: newCatalog(tools), bound: map[string]int{}, unpackedFrom: map[string]int{}, matched: map[*regexp.Regexp]bool{}, unawaited: map[int]bool{}}
	for i, receipt := range r.Calls {
		c := call{Call: receipt, begin: -1}
		if r.Seen != nil && i < len(r.Seen.Calls) {
			c.seen = r.Seen.Calls[i]
			if at := p.offset(c.seen.Position); at >= 0 {
				c.begin = p.chainStart(at)
			}
		}
		p.calls = append(p.calls, c)
		if name := p.boundTo(c.begin); name != "" {
			p.bound[name] = i
		}
		for _, name := range p.unpacked(c.begin) {
			p.unpackedFrom[name] = i
		}
	}
	return p
}

// has reports whether the masked code matches.
func (p *program) has(pattern *regexp.Regexp) bool {
	found, known := p.matched[pattern]
	if !known {
		found = pattern.MatchString(p.masked)
		p.matched[pattern] = found
	}
	return found
}

// add adds a hint once.
func (p *program) add(hint string) {
	if !slices.Contains(p.found, hint) {
		p.found = append(p.found, hint)
	}
}

// isPlain reports whether a run shows no sign of a mistake that has a hint, so
// that most runs cost no analysis.
func (r *Run) isPlain() bool {
	if r.Error != nil {
		return r.Error.Phase != sandbox.PhaseParse && r.Error.Phase != sandbox.PhaseTypecheck && r.Error.Phase != sandbox.PhaseRuntime
	}
	if r.Seen == nil || !r.Seen.Returned || r.Seen.Promise || len(r.Seen.Reads) > 0 || len(r.Seen.Parses) > 0 {
		return false
	}
	for _, c := range r.Seen.Calls {
		if !c.Used || c.Open {
			return false
		}
	}
	for _, c := range r.Calls {
		if c.Error != "" {
			return false
		}
	}
	return !blocks.HasHandle(r.Result) && !isSuspicious(r.Code) && !showsError(r.Result) && !slices.ContainsFunc(r.Logs, showsError)
}
