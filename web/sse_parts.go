package web

import "bytes"

// EndWithParts queues a message, whose data are the parts, and the last messages
// after it, and ends the stream as EndWith does. Long parts are not copied; they
// must not change afterwards.
func (s *Stream) EndWithParts(event string, parts [][]byte, last ...[]byte) {
	frames := eventFrames(event, parts)
	for _, data := range last {
		frames = append(frames, appendEvent(nil, event, data))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.pushFrames(frames, nil)
		s.end()
	}
}

// SendPartsWhenRoom queues one message as SendWhenRoom does, whose data are the
// parts, as with EndWithParts. sent is called once when the message was sent or
// cannot be.
func (s *Stream) SendPartsWhenRoom(event string, sent func(), parts ...[]byte) bool {
	frames := eventFrames(event, parts)
	size := 0
	for _, frame := range frames {
		size += len(frame)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.ending && s.full(size) {
		s.room.Wait()
	}
	if s.ending {
		call(sent)
		return false
	}
	s.pushFrames(frames, sent)
	return true
}

// pushFrames queues the frames of one message. The caller holds the mutex.
func (s *Stream) pushFrames(frames [][]byte, sent func()) {
	for i, frame := range frames {
		e := streamEvent{frame: frame}
		if i == len(frames)-1 {
			e.sent = sent
		}
		s.push(e)
	}
}

// drop empties the queue. The caller holds the mutex.
func (s *Stream) drop() {
	for _, e := range s.queue {
		call(e.sent)
	}
	s.queue, s.bytes = nil, 0
}

// wrote notes that what take returned was written. The caller holds the
// mutex.
func (s *Stream) wrote() {
	for _, sent := range s.writing {
		sent()
	}
	s.writing = s.writing[:0]
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// eventFrames returns the frames of one event, whose data are the parts. Parts
// that are too long for one write are separate frames.
func eventFrames(event string, parts [][]byte) (frames [][]byte) {
	size := len(event) + len("event: \ndata: \n\n")
	for _, part := range parts {
		if len(part) < streamWriteSize {
			size += len(part)
		}
	}
	frame := make([]byte, 0, size)
	if event != "" {
		frame = append(append(append(frame, "event: "...), event...), '\n')
	}
	frame = append(frame, "data: "...)
	for _, part := range parts {
		if len(part) < streamWriteSize {
			start := len(frame)
			frame = append(frame, part...)
			withoutLineEnds(frame[start:])
			continue
		}
		if bytes.ContainsAny(part, "\r\n") {
			part = bytes.Clone(part)
			withoutLineEnds(part)
		}
		frames, frame = append(frames, frame, part), nil
	}
	return append(frames, append(frame, "\n\n"...))
}

// withoutLineEnds replaces line breaks, which would end the data, by spaces: in
// JSON they are found between tokens only.
func withoutLineEnds(data []byte) {
	for _, lineEnd := range []byte("\r\n") {
		rest := data
		for i := bytes.IndexByte(rest, lineEnd); i >= 0; i = bytes.IndexByte(rest, lineEnd) {
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}
