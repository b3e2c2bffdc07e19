package hints

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/services/sandbox"
)

var (
	asyncEach  = regexp.MustCompile(`\bforEach\s*\(\s*async\b`)
	settledAny = regexp.MustCompile(`\bPromise\s*\.\s*(?:race|any)\b`)
	joins      = regexp.MustCompile(`\bPromise\s*\.\s*(?:all|allSettled|race|any)\b|\bfor\s+await\b`)
	catches    = regexp.MustCompile(`\bcatch\b|\ballSettled\b|\bPromise\s*\.\s*(?:any|race)\b`)
	thens      = regexp.MustCompile(`\.\s*then\s*\(`)
	allOf      = regexp.MustCompile(`\bPromise\s*\.\s*all\b`)
	emptyCatch = regexp.MustCompile(`^\s*catch\s*(?:\([^()]*\))?\s*\{`)
	noneCatch  = regexp.MustCompile(`^\s*\.\s*catch\s*\(\s*(?:async\s*)?(?:\(\s*[\w$]*\s*\)|[\w$]+)\s*=>\s*(?:\{\s*\}|undefined)\s*\)`)
	settles    = regexp.MustCompile(`\ballSettled\s*\(`)
	ends       = regexp.MustCompile(`\bbreak\b|\breturn\b`)
	looks      = regexp.MustCompile(`\bstatus\b|\breason\b`)
)

// awaits adds the hint for calls that nothing waited for.
func (p *program) awaits() {
	if p.Error != nil && (p.Error.Phase != sandbox.PhaseRuntime || p.Error.Name == "ToolError") {
		return
	}
	for _, each := range asyncEach.FindAllStringIndex(p.masked, maxMatches) {
		open := each[0] + strings.IndexByte(p.masked[each[0]:], '(')
		p.eachs = append(p.eachs, [2]int{open, p.close(open)})
	}
	for i, c := range p.calls {
		if p.Seen != nil && i < len(p.Seen.Calls) && p.isUnawaited(c) {
			p.unawaited[i] = true
		}
	}
	count := len(p.unawaited)
	if count == 0 {
		if p.Seen != nil && p.Seen.Promise && p.Error == nil {
			p.add("the returned value contains a promise; use await, or await Promise.all(list.map(…))")
		}
		return
	}
	var shown []string
	for i, c := range p.calls {
		if !p.unawaited[i] {
			continue
		}
		where := p.short(c)
		if c.begin >= 0 {
			where += " at " + at(p.position(c.begin))
		}
		if !slices.Contains(shown, where) {
			shown = append(shown, where)
		}
	}
	more := ""
	if len(shown) > 3 {
		shown, more = shown[:3], " …"
	}
	verb := "calls were"
	if count == 1 {
		verb = "call was"
	}
	p.add(fmt.Sprintf("%d %s not awaited (%s%s); use await, or await Promise.all(list.map(…))", count, verb, strings.Join(shown, ", "), more))
}

// isUnawaited reports whether the run did not wait for a call although it should
// have.
func (p *program) isUnawaited(c call) bool {
	if c.begin >= 0 {
		for _, each := range p.eachs {
			if each[0] < c.begin && c.begin < each[1] {
				return true
			}
		}
	}
	if p.Error != nil {
		// The run may have failed before it came to the await.
		if c.seen.Used {
			return false
		}
		name := p.boundTo(c.begin)
		return !p.has(joins) && !p.isAwaitedLater(name)
	}
	if !c.seen.Used {
		return true
	}
	return c.seen.Open && !p.has(settledAny) && !(p.has(allOf) && p.anyFailed())
}

func (p *program) anyFailed() bool {
	return slices.ContainsFunc(p.calls, func(other call) bool { return other.Error != "" })
}

func (p *program) isAwaitedLater(name string) bool {
	for _, use := range p.uses(name) {
		before := strings.TrimRight(p.masked[:use], " \t\r\n(")
		after := strings.TrimLeft(p.masked[use+len(name):], " \t\r\n")
		if strings.HasSuffix(before, "await") || strings.HasPrefix(after, ".then") {
			return true
		}
	}
	return false
}

// short returns the name of the tool of a call without its server.
func (p *program) short(c call) string {
	for _, t := range p.tools {
		if t.Full == c.Tool {
			return t.Name
		}
	}
	return c.Tool
}

func at(p sandbox.Position) string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// failures adds hints for calls whose failure nothing checked.
func (p *program) failures() {
	for i, c := range p.calls {
		if c.Error == "" || len(p.found) >= Max || !p.isIgnored(i) {
			continue
		}
		where := ""
		if c.begin >= 0 {
			where = " at " + at(p.position(c.begin))
		}
		hint := fmt.Sprintf("%s failed%s: %s", p.catalog.called(c.Tool), where, sandbox.ClipText(strings.Join(strings.Fields(c.Error), " "), 200))
		if p.Error == nil {
			hint = "the result stands, but " + hint
		}
		p.valued = p.valued || p.Error != nil
		p.add(hint)
	}
}

// isIgnored reports whether a call failed and nothing in the code checked the
// failure.
func (p *program) isIgnored(i int) bool {
	c := p.calls[i]
	switch {
	case p.Error != nil && p.Error.Name == "ToolError" && p.Error.CallSeq == i+1:
		return false
	case strings.Contains(p.Result, shownPart(c.Error)) || slices.ContainsFunc(p.Logs, func(line string) bool { return strings.Contains(line, shownPart(c.Error)) }):
		return false
	case p.Seen != nil && i < len(p.Seen.Calls) && !c.seen.Used:
		return true
	case p.Error == nil && !p.has(catches) && !p.hasRejected():
		return true
	case c.begin < 0:
		return false
	}
	return p.isSwallowed(c.begin) || p.isUnsettled(c.begin)
}

// hasRejected reports whether the code has a then with a second argument.
func (p *program) hasRejected() bool {
	for _, found := range thens.FindAllStringIndex(p.masked, maxMatches) {
		for i := found[1]; i < p.close(found[1]-1); i++ {
			switch p.masked[i] {
			case '(', '[', '{':
				i = p.close(i)
			case ',':
				return true
			}
		}
	}
	return false
}

// shownPart returns the part of an error that JSON doesn't escape.
func shownPart(message string) string {
	if n := strings.IndexAny(message, "\"\\\n\t"); n > 8 {
		return message[:n]
	}
	return sandbox.ClipText(message, 60)
}

// isSwallowed reports whether the failure of a call ends in a catch that has
// neither code nor a comment.
func (p *program) isSwallowed(begin int) bool {
	end := p.callEnd(begin)
	if noneCatch.MatchString(p.masked[end:]) {
		return true
	}
	block, depth := p.enclosing(begin), 0
	for ; block >= 0 && depth < maxMatches; block, depth = p.enclosing(block), depth+1 {
		if p.masked[block] == '{' && strings.HasSuffix(strings.TrimRight(p.masked[:block], " \t\r\n"), "try") {
			break
		}
	}
	if block < 0 {
		return false
	}
	after := p.close(block) + 1
	found := emptyCatch.FindStringIndex(p.masked[after:])
	if found == nil {
		return false
	}
	open := after + found[1] - 1
	if strings.TrimSpace(p.text[open+1:p.close(open)]) != "" {
		return false
	}
	// A loop that ends with the first success tries again on purpose.
	return !ends.MatchString(p.masked[block:after]) || !slices.ContainsFunc(p.calls, func(other call) bool { return other.begin == begin && other.Error == "" })
}

// isUnsettled reports whether a call is in Promise.allSettled and nothing reads
// the outcomes.
func (p *program) isUnsettled(begin int) bool {
	if p.has(looks) || strings.Contains(p.Result, `"rejected"`) {
		return false
	}
	for _, found := range settles.FindAllStringIndex(p.masked, maxMatches) {
		if open := found[1] - 1; open < begin && begin < p.close(open) {
			return true
		}
	}
	return p.boundTo(begin) == "" && p.has(settles)
}

// callEnd returns the offset after the arguments of the call at an offset.
func (p *program) callEnd(begin int) int {
	for i := begin; i < len(p.masked); i++ {
		switch p.masked[i] {
		case '[':
			i = p.close(i)
		case '(':
			return min(len(p.masked), p.close(i)+1)
		case ';', '}', ')':
			return i
		}
	}
	return len(p.masked)
}
