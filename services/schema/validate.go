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

// Validator validates arguments against the inputSchema of a tool. Each
// definition is compiled once and cached within a size limit, least recently
// used first out. It is safe for concurrent use.
type Validator struct {
	mu       sync.Mutex
	compiled map[[sha256.Size]byte]*list.Element // values are *compiledSchema
	recent   *list.List                          // most recently used first
	size     int
	limit    int
}

// NewValidator returns a validator with an empty cache.
func NewValidator() *Validator {
	return &Validator{compiled: map[[sha256.Size]byte]*list.Element{}, recent: list.New(), limit: maxCompiledSize}
}

// compiledSchema is the compiled form of one definition.
type compiledSchema struct {
	hash     [sha256.Size]byte
	document *Document
	resolved *jsonschema.Resolved // nil if arguments can't be validated
	reason   string               // why they can't be validated
	size     int
}

// Check validates raw arguments against the inputSchema of a raw tool
// definition (JSON Schema draft-04 to 2020-12). It returns nil for valid
// arguments, and when the schema can't be used, which UncheckedReason explains.
// Otherwise it returns INVALID_PARAMETER with the place and what would be valid
// there. It reads nothing outside of the definition.
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
		return fault.Invalid("arguments must be a single JSON object")
	}
	if !withinBudget(c.document, value) {
		return nil
	}
	if err := validate(c.resolved, value.plain()); err == nil || errors.Is(err, errCannotCheck) {
		return nil
	}
	return explainMismatch(c.document, value).fault()
}

// UncheckedReason returns why arguments for a raw definition can't be validated, or
// "" if they can.
func (v *Validator) UncheckedReason(definition []byte) string { return v.compile(definition).reason }

// Kept returns the number of cached definitions.
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

// keep caches a compiled schema and evicts the least recently used ones.
func (v *Validator) keep(c *compiledSchema) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.compiled[c.hash] != nil {
		return // another goroutine compiled it first
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
		c.reason = err.Error()
		return c
	}
	schema := root.ObjectOf("inputSchema")
	if schema == nil {
		c.reason = "there is no inputSchema"
		return c
	}
	document := NewDocument(schema)
	normal, steps, err := normalize(document)
	if err != nil {
		c.reason = err.Error()
		return c
	}
	resolved, err := resolve(normal)
	if err != nil {
		c.reason = "its schema is not usable: " + OneLine(err.Error(), MaxTagText)
		return c
	}
	c.document, c.resolved = document, resolved
	c.size += compiledFactor*len(definition) + patternStepSize*steps
	return c
}

// errCannotCheck is returned when the library fails on a schema.
var errCannotCheck = errors.New("schema validation failed")

// resolve and validate recover panics of the library, whose assertions fail for
// unexpected schemas. Such a schema is not validated, and no upstream can crash
// the process with it.
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
