package hints

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/services/sandbox"
)

var (
	contentOf   = regexp.MustCompile(`(?:\?\.|\.)\s*content\b\s*(?:\?\.\s*)?(?:\[|\.\s*(?:map|find|filter|forEach|at|length)\b)`)
	readOf      = regexp.MustCompile(`^cannot read property (?:'(.*)' )?of (undefined|null)$`)
	compared    = regexp.MustCompile(`^\s*(?:[<>.\[+*/%-]|[!=]==?\s*["'\d])`)
	ternary     = regexp.MustCompile(`\s\?\s`)
	conditional = regexp.MustCompile(`\bif\s*\(|\btypeof\b|\bin\s|\bArray\s*\.\s*isArray\b`)
	checks      = regexp.MustCompile(`\bif\s*\([^(){};]*$|\btypeof\s*$|\bArray\s*\.\s*isArray\s*\(\s*$|\bin\s*$`)
	rootName    = regexp.MustCompile(`^\(?\s*(?:await\s+)?([A-Za-z_$][\w$]*)`)
)

// has reports whether a value is an object with a key.
func has(v *sandbox.Value, key string) bool { return slices.Contains(v.Keys, key) }

// describe returns the kind of a value in words: "an array of 3".
func describe(v *sandbox.Value) string {
	if v == nil {
		return "undefined"
	}
	switch v.Kind {
	case "array":
		return fmt.Sprintf("an array of %d", v.Length)
	case "object":
		if len(v.Keys) == 0 {
			return "an empty object"
		}
		return "an object with " + strings.Join(v.Keys, ", ")
	case "text":
		return "a text; it begins " + quote(v.Begins, 60) // language:ignore
	case "null", "undefined":
		return v.Kind
	}
	return "a " + v.Kind
}

// values adds hints for code that reads another value than the one that a call
// returned.
func (p *program) values() {
	p.contents()
	p.parses()
	p.textReads()
}

// contents adds hints for r.content[0].text where r is a value without content.
func (p *program) contents() {
	for _, found := range contentOf.FindAllStringIndex(p.masked, maxMatches) {
		if len(p.found) >= Max {
			return
		}
		dot := found[0]
		end := p.skipBack(dot)
		if end == 0 {
			continue
		}
		begin := p.chainStart(p.tokenStart(end - 1))
		expression := strings.TrimSpace(p.text[begin:end])
		index, known := p.callOf(expression, begin)
		if !known {
			// r is a parameter, such as that of a callback.
			if index = p.anyValue(); index < 0 || p.Error == nil || !p.failedNear(dot) {
				continue
			}
			expression = p.catalog.called(p.calls[index].Tool)
			p.valued = true
			p.add(fmt.Sprintf("calls return the value itself: %s returned %s", expression, describe(p.calls[index].seen.Value)))
			continue
		}
		value := p.calls[index].seen.Value
		if p.unawaited[index] || value == nil || has(value, "content") || p.Error == nil && (p.isDefensive(dot, root(expression)) || p.isChecked(expression)) {
			continue
		}
		p.valued = true
		if strings.ContainsAny(expression, "( ") {
			p.add(fmt.Sprintf("calls return the value itself: %s returned %s", p.catalog.called(p.calls[index].Tool), describe(value)))
			continue
		}
		p.add(fmt.Sprintf("calls return the value itself: %s is %s", expression, describe(value)))
	}
}

// tokenStart returns the offset of the name or bracketed part that ends at an
// offset.
func (p *program) tokenStart(last int) int {
	if c := p.masked[last]; c == ')' || c == ']' {
		if open := p.open(last); open >= 0 {
			return open
		}
	}
	return p.wordStart(last)
}

// callOf returns the index of the call whose value an expression has: a
// variable, or the awaited call itself.
func (p *program) callOf(expression string, begin int) (index int, known bool) {
	if i, bound := p.bound[expression]; bound && isName.MatchString(expression) {
		return i, true
	}
	if strings.HasPrefix(expression, "(") {
		for i, c := range p.calls {
			if c.begin > begin && c.begin < begin+len(expression) {
				return i, true
			}
		}
	}
	return 0, false
}

// anyValue returns the index of a call that returned a value, or -1.
func (p *program) anyValue() int {
	for i, c := range p.calls {
		if c.seen.Value != nil && !has(c.seen.Value, "content") {
			return i
		}
	}
	return -1
}

// failedNear reports whether the run failed in the line of an offset.
func (p *program) failedNear(offset int) bool {
	return p.Error != nil && p.Error.Name == "TypeError" && p.position(offset).Line == p.Error.Line
}

// isChecked reports whether the code checks the kind of a variable.
func (p *program) isChecked(name string) bool {
	for _, use := range p.uses(name) {
		if checks.MatchString(p.before(use)) {
			return true
		}
	}
	return false
}

// isDefensive reports whether the line of an offset handles an absent property:
// with a condition, or with the variable itself as the default.
func (p *program) isDefensive(offset int, variable string) bool {
	line := strings.TrimSpace(p.line(offset))
	if line != "" && strings.IndexByte("?:|&", line[0]) >= 0 {
		return true
	}
	if ternary.MatchString(line) || conditional.MatchString(line) {
		return true
	}
	for _, operator := range []string{"??", "||"} {
		_, rest, found := strings.Cut(line, operator)
		if end := strings.IndexAny(rest, ",;"); end >= 0 && !strings.Contains(rest[:end], "(") {
			rest = rest[:end] // the rest of the line has other expressions
		}
		if found && variable != "" && len(newSource(rest).uses(variable)) > 0 {
			return true
		}
	}
	return false
}

// isUsed reports whether the code compares or continues with a property that it
// reads at an offset, so it doesn't only check for it.
func (p *program) isUsed(offset int, property string) bool {
	line := p.line(offset)
	_, after, found := strings.Cut(line[p.position(offset).Column-1:], property)
	return found && compared.MatchString(after)
}

// root returns the variable at the beginning of an expression, or "".
func root(expression string) string {
	if found := rootName.FindStringSubmatch(expression); found != nil {
		return found[1]
	}
	return ""
}

// parses adds hints for JSON.parse of a value that a call returned.
func (p *program) parses() {
	if p.Seen == nil {
		return
	}
	for _, fact := range p.Seen.Parses {
		value := fact.Value
		if value.Kind == "text" && (p.Error == nil || p.Error.Name != "SyntaxError") || p.Error == nil && p.isTypeChecked() {
			continue
		}
		offset := p.offset(fact.Position)
		if offset < 0 {
			continue
		}
		argument := "the argument"
		if open := strings.IndexByte(p.masked[offset:], '('); open >= 0 {
			argument = strings.TrimSpace(p.text[offset+open+1 : p.close(offset+open)])
		}
		index, bound := p.bound[argument]
		if bound && p.unawaited[index] {
			continue
		}
		p.valued = true
		if isName.MatchString(argument) || argument == "the argument" {
			p.add(fmt.Sprintf("calls return the value itself: %s is %s", argument, describe(&value)))
		} else {
			p.add(fmt.Sprintf("calls return the value itself: the argument of JSON.parse is %s", describe(&value)))
		}
	}
}

func (p *program) isTypeChecked() bool { return len(p.uses("typeof")) > 0 }

// textReads adds hints for unknown properties of a text that a call returned.
func (p *program) textReads() {
	if p.Seen == nil {
		return
	}
	for _, read := range p.Seen.Reads {
		if read.Call < 0 || read.Call >= len(p.calls) || read.Property == "content" && p.valued {
			continue
		}
		c := p.calls[read.Call]
		offset := p.offset(read.Position)
		if c.seen.Value == nil || p.Error == nil && offset >= 0 && !p.isUsed(offset, read.Property) && p.isDefensive(offset, root(p.text[p.chainStart(offset):])) {
			continue
		}
		p.valued = true
		if c.seen.Value.Kind == "array" {
			p.add(fmt.Sprintf("%s returned an array of texts, so .%s of each is undefined", p.catalog.called(c.Tool), read.Property))
			continue
		}
		p.add(fmt.Sprintf("%s returned a text, so .%s is undefined; it begins %s", p.catalog.called(c.Tool), read.Property, quote(c.seen.Value.Begins, 60))) // language:ignore
	}
}

// undefined adds the hint for a property that was read from undefined or null.
func (p *program) undefined() {
	if p.Error == nil || p.named || p.valued {
		return
	}
	found := readOf.FindStringSubmatch(p.Error.Message)
	if found == nil {
		return
	}
	from := p.offset(sandbox.Position{Line: p.Error.Line, Column: p.Error.Column})
	if from < 0 {
		return
	}
	property, kind := found[1], found[2]
	begin, end := p.base(from, property)
	if end <= begin {
		return
	}
	expression := strings.TrimSpace(p.text[begin:end])
	if i, got := p.unpackedFrom[expression]; got && expression == "content" && !p.unawaited[i] && p.calls[i].seen.Value != nil {
		p.add(fmt.Sprintf("calls return the value itself: %s returned %s", p.catalog.called(p.calls[i].Tool), describe(p.calls[i].seen.Value)))
		return
	}
	where := at(p.position(end))
	if property == "" {
		property = p.indexAt(end)
	}
	hint := fmt.Sprintf("%s is %s at %s, so .%s can't be read", expression, kind, where, property)
	if property == "Symbol.iterator" {
		hint = fmt.Sprintf("%s is %s at %s, so it can't be iterated", expression, kind, where)
	} else if strings.HasPrefix(property, "[") {
		hint = fmt.Sprintf("%s is %s at %s, so %s can't be read", expression, kind, where, property)
	}
	if i, bound := p.bound[root(expression)]; bound {
		if p.unawaited[i] {
			return
		}
		if value := p.calls[i].seen.Value; root(expression) != expression {
			hint += fmt.Sprintf("; %s is %s", root(expression), describe(value))
		} else if value == nil {
			hint += "; " + p.catalog.called(p.calls[i].Tool) + " returned nothing"
		}
	}
	if i, got := p.unpackedFrom[root(expression)]; got && !p.unawaited[i] {
		hint += fmt.Sprintf("; %s returned %s", p.catalog.called(p.calls[i].Tool), describe(p.calls[i].seen.Value))
	}
	p.add(hint)
}

// notFunction adds the hint for a method that the value of a call doesn't have.
func (p *program) notFunction() {
	if p.Error == nil || p.named || p.valued || p.Error.Message != "not a function" {
		return
	}
	at := p.offset(sandbox.Position{Line: p.Error.Line, Column: p.Error.Column})
	if at <= 0 {
		return
	}
	method := p.word(at)
	dot := p.skipBack(at)
	if method == "" || dot == 0 || p.masked[dot-1] != '.' {
		return
	}
	expression := strings.TrimRight(strings.TrimSpace(p.text[p.chainStart(at):dot-1]), "?")
	if i, bound := p.bound[expression]; bound && !p.unawaited[i] {
		p.add(fmt.Sprintf("%s is %s, so it has no method %s", expression, describe(p.calls[i].seen.Value), method))
	}
}

// base returns the range of the expression whose property was read, from the
// position of the error, which is in that expression.
func (p *program) base(from int, property string) (begin, end int) {
	limit := min(len(p.masked), from+2000)
	for i := from; i < limit; i++ {
		switch c := p.masked[i]; {
		case property == "Symbol.iterator":
			end = i
			for end < limit && (isWord(p.masked[end]) || strings.IndexByte(".?[]", p.masked[end]) >= 0) {
				end++
			}
			return p.chainStart(p.tokenStart(max(from, end-1))), end
		case c == '.' && property != "" && strings.TrimLeft(p.masked[i+1:], " \t\r\n") != "" && p.word(i+1+len(p.masked[i+1:])-len(strings.TrimLeft(p.masked[i+1:], " \t\r\n"))) == property,
			c == '[' && i > from && (property == "" || p.indexAt(i) == "["+property+"]" || strings.Contains(p.text[i:min(limit, p.close(i))], property)):
			end = p.skipBack(i)
			if end > 0 && p.masked[end-1] == '?' {
				end--
			}
			return p.chainStart(p.tokenStart(end - 1)), end
		}
	}
	return 0, 0
}

// indexAt returns the index in brackets at an offset, such as [0].
func (p *program) indexAt(open int) string {
	if open >= len(p.masked) || p.masked[open] != '[' {
		return "[…]"
	}
	return sandbox.ClipText(p.text[open:min(len(p.text), p.close(open)+1)], 40)
}
