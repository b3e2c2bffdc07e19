package sse

// EndWithParts queues an event, whose data are the parts, and then the last
// events, and ends the stream as EndWith does. Long parts are not copied and
// must not change afterwards.
func (s *Stream) EndWithParts(event string, parts [][]byte, last ...[]byte) {
	frames := eventFrames(appendName(nil, event), parts)
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

// SendPartsBlocking queues one event as SendBlocking does, whose data are the
// parts as in EndWithParts. sent is called once when the event was sent or
// dropped.
func (s *Stream) SendPartsBlocking(event string, sent func(), parts ...[]byte) bool {
	frames := eventFrames(appendName(nil, event), parts)
	size := sizeOf(frames)
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

// pushFrames queues the frames of one event. The caller must hold mu.
func (s *Stream) pushFrames(frames [][]byte, sent func()) {
	for i, frame := range frames {
		e := streamEvent{frame: frame}
		if i == len(frames)-1 {
			e.sent = sent
		}
		s.push(e)
	}
}

// drop empties the queue. The caller must hold mu.
func (s *Stream) drop() {
	for _, e := range s.queue {
		call(e.sent)
	}
	s.queue, s.bytes = nil, 0
}

// wrote calls the sent functions of the batch that take returned last. The
// caller must hold mu.
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
