package codemode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame between the gateway and a child is its length in four bytes, its
// kind in one, and its body.
const frameHeader = 5

// The kinds of frames.
const (
	// From the child.
	frameReady  = 'R' // readyMessage: it can take a run
	frameCall   = 'C' // callMessage: the code calls a tool
	frameFetch  = 'F' // callMessage: the code fetches
	frameLog    = 'L' // logMessage
	frameFinish = 'D' // finishMessage: the run is over
	// To the child.
	frameStart  = 'S' // startMessage
	frameAnswer = 'A' // id in four bytes, a status byte, the data
)

// The statuses of an answer.
const (
	answerJSON      = 'j' // the data is JSON text
	answerText      = 't' // the data is a string
	answerUndefined = 'u'
	answerError     = 'e' // the data is a failureMessage
)

// readyMessage says how the child confined itself.
type readyMessage struct {
	CPUMillis int64    `json:"cpuMs"` // spent before the run
	Confined  []string `json:"confined"`
}

// startMessage is everything that a run needs.
type startMessage struct {
	Code       string          `json:"code"`
	Input      json.RawMessage `json:"input,omitempty"`
	Namespaces []namespace     `json:"namespaces"`
	Fetch      bool            `json:"fetch"`
	MaxCalls   int             `json:"maxCalls"`
	TimeoutMS  int64           `json:"timeoutMs"` // wall time that is left
	CPUMillis  int64           `json:"cpuLimitMs"`
	Clock      int64           `json:"clock"` // Unix milliseconds
	Random     [4]uint32       `json:"random"`
}

// namespace is one constant of the program with the tools of a server.
type namespace struct {
	Ident string      `json:"ident"`
	Tools [][2]string `json:"tools"` // member, name to call
}

type callMessage struct {
	ID        uint32 `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text
}

type logMessage struct {
	Level string `json:"level"`
	Text  string `json:"text"`
	MS    int64  `json:"ms"` // since the start of the run
}

// failureMessage becomes a ToolError in the code.
type failureMessage struct {
	Kind    string          `json:"kind"` // tool, limit, timeout, invalid, cancelled
	Message string          `json:"message"`
	Tool    string          `json:"tool"`
	Seq     int             `json:"seq,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
}

// finishMessage is how a run ended.
type finishMessage struct {
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes int             `json:"resultBytes"` // before it was cut; 0 when it was not
	Error       *RunError       `json:"error,omitempty"`
	LostLogs    int             `json:"lostLogs"`
	CPUMillis   int64           `json:"cpuMs"`  // of the run
	Memory      int64           `json:"memory"` // by which the process grew, in bytes; 0 is unknown
	Measured    bool            `json:"measured"`
}

// writeFrame writes one frame. It is not safe for concurrent use.
func writeFrame(w io.Writer, kind byte, body []byte) error {
	if len(body) > maxFrame {
		return fmt.Errorf("a frame of %d bytes is too long", len(body))
	}
	frame := make([]byte, frameHeader, frameHeader+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	frame[4] = kind
	_, err := w.Write(append(frame, body...))
	return err
}

// writeMessage writes one frame with a JSON body.
func writeMessage(w io.Writer, kind byte, message any) error {
	body, err := encode(message)
	if err != nil {
		return err
	}
	return writeFrame(w, kind, body)
}

// encode returns v as JSON text in which <, > and & stay as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// readFrame reads one frame; a longer one than maxFrame is an error.
func readFrame(r io.Reader) (kind byte, body []byte, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if length > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes is too long", length)
	}
	body = make([]byte, length)
	_, err = io.ReadFull(r, body)
	return header[4], body, err
}

// answerFrame returns the body of an answer to a call.
func answerFrame(id uint32, status byte, data []byte) []byte {
	body := binary.BigEndian.AppendUint32(make([]byte, 0, 5+len(data)), id)
	return append(append(body, status), data...)
}
