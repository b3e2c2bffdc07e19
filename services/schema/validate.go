package schema

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"mcpgateway/services/fault"
)

// Validator checks arguments against the inputSchema of their tool.
// Each definition is compiled once and kept while it is used and there is
// room. It is safe for concurrent use.
type Validator struct {
	mu       sync.Mutex
	compiled map[[sha256.Size]byte]*list.Element // of *compiledSchema
	recent   *list.List                          // the one used last in front
	size     int
	limit    int
}

// NewValidator returns a validator that keeps nothing yet.
func NewValidator() *Validator {
	return &Validator{compiled: map[[sha256.Size]byte]*list.Element{}, recent: list.New(), limit: maxCompiledSize}
}

// compiledSchema is what is known of one definition.
type compiledSchema struct {
	hash     [sha256.Size]byte
	document *Document
	resolved *jsonschema.Resolved // nil when arguments cannot be checked
	why      string               // they cannot
	size     int
}

// Check returns nil when raw arguments fit the inputSchema of a raw tool
// definition (JSON Schema draft-04 to 2020-12), and when it cannot tell, which
// Unchecked explains. Else it returns INVALID_PARAMETER with a message that
// names the path and what would be right. Nothing outside of the definition is
// ever read for it.
func (v *Validator) Check(definition, arguments []byte) error {
	c := v.compile(definition)
	if c.resolved == nil {
		return nil
	}
	value, err := ParseValue(arguments, maxArguments)
	switch {
	case errors.Is(err, ErrTooLarge) || errors.Is(err, ErrTooDeep):
		return nil
	case err != nil || !value.Is('{'):
		return fault.Invalid("the arguments must be one JSON object")
	}
	if !affordable(c.document, value) {
		return nil
	}
	if err := validate(c.resolved, value.plain()); err == nil || errors.Is(err, errCannotCheck) {
		return nil
	}
	return fault.Invalid("%s", explainMismatch(c.document, value))
}

// Unchecked returns why arguments for a raw definition cannot be checked, or
// an empty text when they can.
func (v *Validator) Unchecked(definition []byte) string { return v.compile(definition).why }

// Kept returns how many definitions are kept in compiled form.
func (v *Validator) Kept() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.recent.Len()
}

func (v *Validator) compile(definition []byte) *compiledSchema {
	hash := sha256.Sum256(definition)
	if c := v.find(hash); c != nil {
		return c
	}
	c := compileSchema(definition)
	c.hash = hash
	v.keep(c)
	return c
}

func (v *Validator) find(hash [sha256.Size]byte) *compiledSchema {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.compiled[hash]
	if e == nil {
		return nil
	}
	v.recent.MoveToFront(e)
	return e.Value.(*compiledSchema)
}

// keep keeps what was compiled and drops what was not used for longest.
func (v *Validator) keep(c *compiledSchema) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.compiled[c.hash] != nil {
		return // somebody else compiled it meanwhile
	}
	v.compiled[c.hash] = v.recent.PushFront(c)
	v.size += c.size
	for v.size > v.limit && v.recent.Len() > 1 {
		last := v.recent.Back()
		old := v.recent.Remove(last).(*compiledSchema)
		v.size -= old.size
		delete(v.compiled, old.hash)
	}
}

func compileSchema(definition []byte) *compiledSchema {
	c := &compiledSchema{size: 1024}
	root, err := Parse(definition)
	if err != nil {
		c.why = err.Error()
		return c
	}
	schema := root.ObjectOf("inputSchema")
	if schema == nil {
		c.why = "there is no inputSchema"
		return c
	}
	document := NewDocument(schema)
	normal, steps, err := normalize(document)
	if err != nil {
		c.why = err.Error()
		return c
	}
	resolved, err := resolve(normal)
	if err != nil {
		c.why = "its schema cannot be used: " + OneLine(err.Error(), MaxTagText)
		return c
	}
	c.document, c.resolved = document, resolved
	c.size += compiledFactor*len(definition) + patternStepSize*steps
	return c
}

// errCannotCheck is returned for a schema that the library fails on.
var errCannotCheck = errors.New("the schema cannot be checked")

// resolve and validate guard the library, whose assertions end in a panic for
// schemas that it did not expect: such a schema is not checked, and no
// upstream can end the process with one.
func resolve(s *jsonschema.Schema) (r *jsonschema.Resolved, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("%w: %v", errCannotCheck, p)
		}
	}()
	return s.Resolve(nil)
}

func validate(r *jsonschema.Resolved, value any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errCannotCheck, p)
		}
	}()
	return r.Validate(value)
}
