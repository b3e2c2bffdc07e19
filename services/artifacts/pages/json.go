package pages

import (
	"slices"

	"mcpgateway/services/fault"
)

// JSON returns the page of pageable JSON that begins with the value at an offset.
// The arrays and objects around that value are opened again, so that the page is
// valid JSON. It has at most limit bytes of values, but at least one value, or
// the piece of a string that is longer than MaxWhole. An array or object that fits
// a page is not divided. It returns INVALID_PARAMETER for an offset at which no
// value begins.
func JSON(raw []byte, offset, limit int) (Page, error) {
	if offset < 0 || offset > len(raw) {
		return Page{}, beyond(offset, len(raw))
	}
	root := space(raw, 0)
	if offset >= skip(raw, root) {
		return Page{Offset: offset, Next: -1}, nil
	}
	w := &writer{raw: raw, whole: max(limit, DefaultLimit), must: true}
	offset = max(offset, root)
	if err := w.seek(root, offset); err != nil {
		return Page{}, err
	}
	w.limit = limit
	for _, f := range w.path {
		w.limit += len(f.child.name) + 3
	}
	next, _ := w.resume(0, root, offset)
	slices.Reverse(w.left)
	return Page{Text: string(w.out), Offset: offset, Next: next, At: w.at, Piece: w.piece, Left: w.left}, nil
}

// HeadOfJSON returns the first page of pageable JSON in at most limit bytes. It
// can be an empty array or object.
func HeadOfJSON(raw []byte, limit int) Page {
	w := &writer{raw: raw, whole: max(limit, DefaultLimit), limit: limit}
	root := space(raw, 0)
	next, written := w.value(root, root, skip(raw, root), "")
	if !written {
		w.out = append(w.out, raw[root], raw[root]+2)
		total := 0
		children(raw, root, func(child) bool { total++; return true })
		w.left = []Left{{Array: raw[root] == '[', Count: total, Total: total}}
		children(raw, root, func(c child) bool { next = c.start; return false })
	}
	slices.Reverse(w.left)
	return Page{Text: string(w.out), Next: next, Left: w.left}
}

// writer writes one page of JSON.
type writer struct {
	raw   []byte
	limit int  // of out, with the ends of the open containers
	whole int  // size up to which a container is not divided
	must  bool // the page has at least one value
	wrote bool
	out   []byte
	open  int // containers without their end

	path  []step // to the first value
	at    string // its pointer
	into  int    // offset inside the string where the page begins, or 0
	piece bool
	left  []Left // the innermost first
}

// step is the child of a container that contains the first value, or is it.
type step struct {
	child   child
	pointer string // of the container
}

// seek finds the path to the value at an offset.
func (w *writer) seek(container, offset int) error {
	if container == offset {
		return nil
	}
	pointer := ""
	for {
		var found child
		children(w.raw, container, func(c child) bool {
			found = c
			return offset >= c.end
		})
		if found.end == 0 || offset < found.start || offset >= found.end {
			return fault.Invalid("No value starts at offset %d. Use offset 0 or one that a result named.", offset)
		}
		w.path = append(w.path, step{found, pointer})
		pointer = found.pointer(pointer)
		w.at = pointer
		kind := w.raw[found.value]
		switch {
		case offset == found.start:
			return nil
		case offset > found.value && (kind == '{' || kind == '['):
			container = found.value
			continue
		case offset > found.value && kind == '"' && found.end-found.value > MaxWhole:
			if before, after := boundary(w.raw, found.value, offset); before != offset {
				return fault.Invalid("Offset %d is inside a character. Use %d or %d.", offset, before, after)
			}
			w.into = offset
			return nil
		}
		return fault.Invalid("Offset %d is inside a value, which starts at %d.", offset, found.start)
	}
}

// resume opens the containers of the path again, writes the first value and continues
// on until the page is full. It returns the offset of the next page, or -1, and
// whether it wrote a value.
func (w *writer) resume(level, container, offset int) (next int, written bool) {
	if level == len(w.path) {
		return w.value(container, container, skip(w.raw, container), "")
	}
	first := w.path[level]
	return w.container(container, first.pointer, first.child.index, func(c child) (int, bool) {
		if level == len(w.path)-1 {
			if w.into > 0 {
				return w.stringPiece(w.into, c)
			}
			return w.value(c.start, c.value, c.end, c.pointer(first.pointer))
		}
		return w.resume(level+1, c.value, offset)
	})
}

// container writes the children of a container from an index on. The first one is
// written by first.
func (w *writer) container(at int, pointer string, from int, first func(child) (int, bool)) (next int, written bool) {
	w.out = append(w.out, w.raw[at])
	w.open++
	shown, next := 0, -1
	children(w.raw, at, func(c child) bool {
		if c.index < from || next >= 0 {
			return true
		}
		mark := len(w.out)
		if shown > 0 {
			w.out = append(w.out, ',')
		}
		if c.name != nil {
			w.out = append(append(w.out, c.name...), ':')
		}
		ok := false
		if c.index == from && first != nil {
			next, ok = first(c)
		} else {
			next, ok = w.value(c.start, c.value, c.end, c.pointer(pointer))
		}
		if !ok {
			w.out = w.out[:mark]
		} else if shown++; next < 0 {
			return true
		}
		if left := w.after(at, c, ok); left > 0 {
			w.left = append(w.left, Left{Pointer: pointer, Array: w.raw[at] == '[', Count: left, Total: c.index + left + btoi(ok)})
		}
		return false
	})
	w.open--
	w.out = append(w.out, w.raw[at]+2)
	return next, shown > 0
}

// after returns the number of children of a container after a child, with that
// child unless it was written.
func (w *writer) after(at int, last child, written bool) int {
	n := 0
	children(w.raw, at, func(c child) bool {
		if c.index > last.index || c.index == last.index && !written {
			n++
		}
		return true
	})
	return n
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// value writes the value from at to end, whose name begins at start. It returns the
// offset of the next page, or -1 if the value is written to its end.
func (w *writer) value(start, at, end int, pointer string) (next int, written bool) {
	size := end - at
	if len(w.out)+size+w.open <= w.limit {
		w.out = append(w.out, w.raw[at:end]...)
		w.wrote = true
		return -1, true
	}
	if isScalar(w.raw, at) {
		if w.wrote || !w.must {
			return start, false
		}
		if size <= MaxWhole {
			w.out = append(w.out, w.raw[at:end]...)
			w.wrote = true
			return -1, true
		}
		return w.stringPiece(at+1, child{value: at, end: end})
	}
	if size <= w.whole && w.wrote {
		return start, false
	}
	mark, wrote := len(w.out), w.wrote
	next, written = w.container(at, pointer, 0, nil)
	if !written {
		w.out, w.wrote = w.out[:mark], wrote
		w.left = w.left[:max(0, len(w.left)-1)]
		return start, false
	}
	return next, true
}

// isScalar reports whether the value at an index has no children.
func isScalar(raw []byte, at int) bool {
	if raw[at] != '{' && raw[at] != '[' {
		return true
	}
	next := raw[space(raw, at+1)]
	return next == '}' || next == ']'
}

// stringPiece writes the piece of a long string that begins at an offset inside
// it, and ends the page, unless the string ends there too.
func (w *writer) stringPiece(from int, c child) (next int, written bool) {
	w.piece, w.wrote = true, true
	last := c.end - 1
	cut := last
	if room := w.limit - len(w.out) - w.open; from+room < last {
		if cut, _ = boundary(w.raw, c.value, from+max(room, 0)); cut <= from {
			_, cut = boundary(w.raw, c.value, from)
		}
	}
	w.out = append(append(append(w.out, '"'), w.raw[from:cut]...), '"')
	if cut < last {
		return cut, true
	}
	return -1, true
}

// Around returns the offset and the JSON pointer of the innermost value of pageable
// JSON around an index. In a long string it is the offset of the character there.
func Around(raw []byte, at int) (offset int, pointer string) {
	container := space(raw, 0)
	offset = container
	for {
		var found child
		children(raw, container, func(c child) bool {
			found = c
			return at >= c.end
		})
		if found.end == 0 || at < found.start || at >= found.end {
			return offset, pointer
		}
		offset, pointer = found.start, found.pointer(pointer)
		switch {
		case at <= found.value:
			return offset, pointer
		case !isScalar(raw, found.value):
			container = found.value
			continue
		case raw[found.value] == '"' && found.end-found.value > MaxWhole && at < found.end-1:
			offset, _ = boundary(raw, found.value, at)
		}
		return offset, pointer
	}
}
