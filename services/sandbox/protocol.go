package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame between the gateway and a child has a length of four bytes, a kind of
// one byte, and a body.
const frameHeader = 5

// The kinds of frames.
const (
	// From the child.
	frameReady  = 'R' // readyMessage: it is ready for a run
	FrameCall   = 'C' // CallMessage: the code calls a tool
	FrameFetch  = 'F' // CallMessage: the code fetches
	FrameLog    = 'L' // LogMessage
	FrameWhole  = 'W' // a byte that distinguishes result and logs, then all of it
	FrameFinish = 'D' // FinishMessage: the outcome of the run
	// To the child.
	frameStart  = 'S' // StartMessage
	frameAnswer = 'A' // id in four bytes, a status byte, the data
)

// The statuses of a reply.
const (
	ReplyJSON      = 'j' // the data is JSON text
	ReplyText      = 't' // the data is a string
	ReplyUndefined = 'u'
	ReplyError     = 'e' // the data is a FailureMessage
)

// What a FrameWhole contains.
const (
	WholeResult = 'r' // JSON
	WholeLogs   = 'l' // lines of text
)

// StoreTool and LoadTool are the names of the calls that store and load values.
const (
	StoreTool = "gateway.store"
	LoadTool  = "gateway.load"
)

// readyMessage reports the measures that confine the child.
type readyMessage struct {
	CPUMillis int64    `json:"cpuMs"` // used before the run
	Confined  []string `json:"confined"`
}

// StartMessage contains everything that a run needs.
type StartMessage struct {
	Code       string          `json:"code"`
	Input      json.RawMessage `json:"input,omitempty"`
	Namespaces []Namespace     `json:"namespaces"`
	Fetch      bool            `json:"fetch"`
	Whole      bool            `json:"whole"` // results and logs that are cut are sent whole too
	MaxCalls   int             `json:"maxCalls"`
	TimeoutMS  int64           `json:"timeoutMs"` // remaining wall time
	CPUMillis  int64           `json:"cpuLimitMs"`
	Clock      int64           `json:"clock"` // Unix milliseconds
	Random     [4]uint32       `json:"random"`
}

// Namespace is a constant of the program with the tools of one server.
type Namespace struct {
	Ident string      `json:"ident"`
	Tools [][2]string `json:"tools"` // member name, tool name
}

// CallMessage is a call of a tool, or a fetch.
type CallMessage struct {
	ID        uint32 `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text
}

// LogMessage is a line of the console.
type LogMessage struct {
	Level string `json:"level"`
	Text  string `json:"text"`
	MS    int64  `json:"ms"` // since the start of the run
}

// FailureMessage becomes a ToolError in the code.
type FailureMessage struct {
	Kind    string          `json:"kind"` // tool, limit, timeout, invalid, cancelled
	Message string          `json:"message"`
	Tool    string          `json:"tool"`
	Seq     int             `json:"seq,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
}

// FinishMessage is the outcome of a run.
type FinishMessage struct {
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes int             `json:"resultBytes"` // size before truncation; 0 if not truncated
	// Blocks are set instead of Result if the code returned content blocks: at
	// most MaxBlocks.
	Blocks        []json.RawMessage `json:"blocks,omitempty"`
	BlocksLeftOut int               `json:"blocksLeftOut,omitempty"`
	Error         *RunError         `json:"error,omitempty"`
	LostLogs      int               `json:"lostLogs"`
	CPUMillis     int64             `json:"cpuMs"`  // of the run
	Memory        int64             `json:"memory"` // growth of the process, in bytes; 0 means unknown
	Measured      bool              `json:"measured"`
	Facts         *Facts            `json:"facts,omitempty"` // nil if the program was stopped
}

// writeFrame writes one frame. It is not safe for concurrent use.
func writeFrame(w io.Writer, kind byte, body []byte) error {
	if len(body) > MaxFrame {
		return fmt.Errorf("frame of %d bytes exceeds the limit", len(body))
	}
	frame := make([]byte, frameHeader, frameHeader+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	frame[4] = kind
	_, err := w.Write(append(frame, body...))
	return err
}

// writeMessage writes one frame with a JSON body.
func writeMessage(w io.Writer, kind byte, message any) error {
	body, err := Encode(message)
	if err != nil {
		return err
	}
	return writeFrame(w, kind, body)
}

// Encode returns v as JSON without escaping <, > and &.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// readFrame reads one frame. A frame longer than MaxFrame is an error.
func readFrame(r io.Reader) (kind byte, body []byte, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if length > MaxFrame {
		return 0, nil, fmt.Errorf("frame of %d bytes exceeds the limit", length)
	}
	body = make([]byte, length)
	_, err = io.ReadFull(r, body)
	return header[4], body, err
}

// answerFrame returns the body of the reply to a call.
func answerFrame(id uint32, status byte, data []byte) []byte {
	body := binary.BigEndian.AppendUint32(make([]byte, 0, 5+len(data)), id)
	return append(append(body, status), data...)
}
