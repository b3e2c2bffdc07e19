package sandbox

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Facts are observations of a run that only the engine can make, for hints.
// Code can't forge them, but it controls the texts in them.
type Facts struct {
	Returned bool        `json:"returned"` // the value was not undefined
	Promise  bool        `json:"promise"`  // the value contained a promise
	Calls    []CallFact  `json:"calls,omitempty"`
	Reads    []ReadFact  `json:"reads,omitempty"`
	Parses   []ParseFact `json:"parses,omitempty"`
}

// Position is a position in the submitted code. Line and Column count from 1; 0
// means unknown. Columns count UTF-16 units.
type Position struct {
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// CallFact is one call that was sent, in the order of the calls. Its position is
// that of the last name before the arguments.
type CallFact struct {
	Position
	Used  bool   `json:"used,omitempty"` // something awaited the promise or called then
	Open  bool   `json:"open,omitempty"` // without a reply when the run ended
	Value *Value `json:"value,omitempty"`
}

// Value describes a value without its data.
type Value struct {
	Kind   string   `json:"kind"` // text, array, object, null, or another result of typeof
	Length int      `json:"length,omitempty"`
	Keys   []string `json:"keys,omitempty"`   // the first of an object
	Begins string   `json:"begins,omitempty"` // of a text
}

// ReadFact is the read of a property that texts don't have, of the text that a
// call returned.
type ReadFact struct {
	Position
	Property string `json:"property"`
	Call     int    `json:"call"` // index in Facts.Calls
}

// ParseFact is a JSON.parse of an object or array, or of a text that is not
// JSON.
type ParseFact struct {
	Position
	Value Value `json:"value"`
}

// facts returns the facts that the prelude reported, with positions instead of
// stacks.
func (e *engine) facts(reported string) *Facts {
	type stacked struct{ Stack string }
	var stacks struct{ Calls, Reads, Parses []stacked }
	var f Facts
	if json.Unmarshal([]byte(reported), &f) != nil || json.Unmarshal([]byte(reported), &stacks) != nil {
		return nil
	}
	for i := range f.Calls {
		f.Calls[i].Position = e.position(stacks.Calls[i].Stack)
	}
	for i := range f.Reads {
		f.Reads[i].Position = e.position(stacks.Reads[i].Stack)
	}
	for i := range f.Parses {
		f.Parses[i].Position = e.position(stacks.Parses[i].Stack)
	}
	return &f
}

// position returns the position of the innermost frame of the submitted code.
func (e *engine) position(stack string) Position {
	if e.program == nil {
		return Position{}
	}
	for frame := range strings.SplitSeq(stack, "\n") {
		found := frameAt.FindStringSubmatch(frame)
		if found == nil {
			continue
		}
		line, _ := strconv.Atoi(found[1])
		column, _ := strconv.Atoi(found[2])
		if line <= userLine {
			continue
		}
		if line, column, ok := e.program.place(line-userLine, column); ok {
			return Position{line, column}
		}
	}
	return Position{}
}
