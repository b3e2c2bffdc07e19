package tasks

import (
	"encoding/json"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// handlePurpose distinguishes handles of tasks from other sealed texts.
const handlePurpose = "task handle"

// Owner is the caller that a task belongs to.
type Owner struct {
	Project   string // id
	Principal string // id within the project
}

func (o Owner) text() string { return o.Project + "\x01" + o.Principal }

// Handle is the content of the handle of a task. Handles are sealed, so that they
// open in every process, and for their owner alone.
type Handle struct {
	Owner   Owner            `json:"-"`
	Form    Form             `json:"f"`
	Server  string           `json:"s"` // id
	Tool    string           `json:"t"` // full name
	ID      string           `json:"i"` // of the upstream server
	Until   int64            `json:"u"` // Unix seconds
	Session upstream.Session `json:"x,omitzero"`
}

// Handles seal and open handles. Implemented by secrets.KeyRing.
type Handles interface {
	SealHandle(purpose, owner string, plain []byte) (string, error)
	OpenHandle(purpose, owner, handle string) ([]byte, error)
}

// seal returns the text of the handle, which is the same each time.
func (t *Tasks) seal(h *Handle) (string, error) {
	plain, err := json.Marshal(h)
	if err != nil {
		return "", fault.Internal(err)
	}
	return t.Handles.SealHandle(handlePurpose, h.Owner.text(), plain)
}

// Open returns the content of a handle of the owner. It returns NotFound for every
// other text, and for a task of another form or beyond its lifetime.
func (t *Tasks) Open(owner Owner, form Form, text string) (*Handle, error) {
	plain, err := t.Handles.OpenHandle(handlePurpose, owner.text(), text)
	if err != nil {
		return nil, NotFound()
	}
	h := Handle{Owner: owner}
	if json.Unmarshal(plain, &h) != nil || h.Form != form || t.Now().Unix() >= h.Until {
		return nil, NotFound()
	}
	return &h, nil
}

// Requested returns the handle in the raw params of a request about a task. It
// returns INVALID_PARAMETER without one.
func Requested(params *rawjson.Object) (string, error) {
	text, ok := params.String("taskId")
	if !ok {
		return "", fault.Invalid("taskId must be a string: the id of the task.")
	}
	return text, nil
}

// NotFound returns the fault for a task that does not exist, belongs to another
// caller, or was never one. All are the same, so that a caller does not learn
// of the tasks of others.
func NotFound() error { return fault.Invalid("Task not found.") }

// until returns when the handle of a new task ends.
func (t *Tasks) until() int64 { return t.Now().Add(MaxLifetime).Truncate(time.Second).Unix() }
