// Package blocks keeps the binary data of content blocks outside of the code
// that handles them, and builds the content of a result from returned blocks.
package blocks

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/sandbox"
)

const (
	// MaxBlock is the maximum size of one block in a result, in decoded bytes.
	MaxBlock = 5 << 20
	// MaxTotal is the maximum size of all blocks that a run keeps, and of all
	// blocks of a result, in decoded bytes.
	MaxTotal = 20 << 20
	// maxHeld is the maximum number of blocks that a run keeps.
	maxHeld = 10_000
)

// handlePrefix starts every handle.
const handlePrefix = "gateway-block-"

// handleDigits is the length of the number at the end of a handle.
const handleDigits = 5

// errTooMany is the error of a result with more blocks than a run may keep.
var errTooMany = errors.New("too many content blocks in one run")

// Held is the binary data of the blocks that tools returned during one run. The
// code has a handle in place of each, which Fill and Returned replace with the
// data. Held is safe for concurrent use.
type Held struct {
	prefix string

	mu   sync.Mutex
	data []string // base64; empty for data above a limit
	size int      // decoded bytes
}

// NewHeld returns an empty Held. secret makes its handles differ from those of
// other runs.
func NewHeld(secret uint64) *Held {
	return &Held{prefix: fmt.Sprintf("%s%016x-", handlePrefix, secret)}
}

// HasHandle reports whether a text contains a handle of any run.
func HasHandle(text string) bool { return strings.Contains(text, handlePrefix) }

// Hold returns an array of content blocks with handles in place of binary data.
// Content without such blocks is returned unchanged. It returns an error if the
// run keeps too many blocks.
func (h *Held) Hold(content []byte) ([]byte, error) {
	parts, err := rawjson.Elements(content, rawjson.Lenient)
	if err != nil {
		return content, nil //nolint:nilerr // not an array, so without blocks
	}
	changed := false
	for i, part := range parts {
		block, err := rawjson.ParseObject(part, rawjson.Lenient)
		if err != nil {
			return content, nil //nolint:nilerr // not an array of blocks
		}
		owner, member := block, "data"
		switch kind, _ := block.String("type"); kind {
		case "image", "audio":
		case "resource":
			owner, member = block.Object("resource"), "blob"
		default:
			continue
		}
		data, ok := owner.String(member)
		if !ok {
			continue
		}
		handle, err := h.add(data)
		if err != nil {
			return nil, err
		}
		owner.Set(member, rawjson.Quote(handle))
		if owner != block {
			block.Set("resource", owner.Bytes())
		}
		parts[i], changed = block.Bytes(), true
	}
	if !changed {
		return content, nil
	}
	return append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']'), nil
}

// add stores data and returns its handle. Data above a limit gets a handle too,
// but is dropped.
func (h *Held) add(data string) (handle string, err error) {
	size := decodedSize(data)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.data) == maxHeld {
		return "", errTooMany
	}
	if size > MaxBlock || h.size+size > MaxTotal {
		data = ""
	} else {
		h.size += size
	}
	h.data = append(h.data, strings.Clone(data))
	return fmt.Sprintf("%s%0*d", h.prefix, handleDigits, len(h.data)-1), nil
}

// Fill returns JSON with the data in place of the handles, for the arguments of
// a call. It returns an error for a handle without data, and if the result has
// more than limit bytes.
func (h *Held) Fill(raw []byte, limit int) ([]byte, error) {
	if !bytes.Contains(raw, []byte(h.prefix)) {
		return raw, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []byte
	for {
		before, after, found := bytes.Cut(raw, []byte(h.prefix))
		out = append(out, before...)
		if !found {
			return out, nil
		}
		data, rest, known := h.at(after)
		switch {
		case !known:
			out = append(out, h.prefix...)
		case data == "":
			return nil, fmt.Errorf("the data of this block was dropped: a block has at most %d bytes, and the blocks of a run have at most %d in total", MaxBlock, MaxTotal)
		case len(out)+len(data) > limit:
			return nil, fmt.Errorf("the arguments with the data of their blocks have more than %d bytes", limit)
		}
		out = append(out, data...)
		raw = rest
	}
}

// at returns the data whose handle's number starts after, and what follows. The
// caller must hold mu.
func (h *Held) at(after []byte) (data string, rest []byte, known bool) {
	if len(after) < handleDigits {
		return "", after, false
	}
	n, err := strconv.ParseUint(string(after[:handleDigits]), 10, 32)
	if err != nil || int(n) >= len(h.data) {
		return "", after, false
	}
	return h.data[n], after[handleDigits:], true
}

// find returns the data with exactly this handle.
func (h *Held) find(handle string) (data string, known bool) {
	number, ok := strings.CutPrefix(handle, h.prefix)
	if !ok || len(number) != handleDigits {
		return "", false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	data, _, known = h.at([]byte(number))
	return data, known
}

// decodedSize returns the number of bytes of base64.
func decodedSize(data string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
}

// replaced returns a block with data in place of its handle.
func replaced(raw json.RawMessage, handle, data string) json.RawMessage {
	return bytes.Replace(raw, rawjson.Quote(handle), rawjson.Quote(data), 1)
}

// isBase64 reports whether a text is standard base64.
func isBase64(data string) bool {
	_, err := base64.StdEncoding.DecodeString(data)
	return err == nil
}

// sizeOf returns the size of a block with data, in decoded bytes.
func sizeOf(b sandbox.Block, data string) int {
	if b.IsBinary() {
		return decodedSize(data)
	}
	return len(b.Text)
}
