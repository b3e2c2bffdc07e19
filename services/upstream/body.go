package upstream

import (
	"errors"
	"io"
)

// Pieces in which a body is read whose length is unknown, or long and only
// claimed: nobody makes the gateway set aside more than was sent.
const (
	minPiece = 512
	maxPiece = 1 << 20
	trusted  = 64 << 10 // a length that is set aside at once
)

// errTooLong says that a body is longer than it may be.
var errTooLong = errors.New("the body is too long")

// readBounded reads a body of the length, which is negative when unknown, to
// its end. It costs little more than the body, unlike a buffer that is moved
// as it grows. reserve is called when about 64 KiB of a longer body have arrived and
// returns how many bytes it may have, at most max, or an error. Other errors are
// errTooLong, or that of the reader; a body that is shorter than its length ends
// with io.ErrUnexpectedEOF.
func readBounded(r io.Reader, length, max int64, reserve func() (int64, error)) ([]byte, error) {
	if length > max {
		return nil, errTooLong
	}
	if 0 <= length && length <= trusted {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	var pieces [][]byte
	var read int64
	reserved := false
	for size := int64(minPiece); ; size = min(2*size, maxPiece) {
		if !reserved && read+size > trusted {
			var err error
			if max, err = reserve(); err != nil {
				return nil, err
			}
			if length >= 0 {
				return readRest(r, pieces, length)
			}
			reserved = true
		}
		if read > max {
			return nil, errTooLong
		}
		piece := make([]byte, min(size, max+1-read))
		n, err := io.ReadFull(r, piece)
		read += int64(n)
		pieces = append(pieces, piece[:n])
		switch {
		case read > max:
			return nil, errTooLong
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if length >= 0 { // it is longer than what was read
				return nil, io.ErrUnexpectedEOF
			}
			if len(pieces) == 1 {
				return pieces[0], nil
			}
			return join(pieces, read), nil
		case err != nil:
			return nil, err
		}
	}
}

// readRest reads the rest of a body behind its first pieces.
func readRest(r io.Reader, pieces [][]byte, length int64) ([]byte, error) {
	first := join(pieces, length)
	body := first[:length]
	_, err := io.ReadFull(r, body[len(first):])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// join returns the pieces as one, which has room for size bytes.
func join(pieces [][]byte, size int64) []byte {
	body := make([]byte, 0, size)
	for _, p := range pieces {
		body = append(body, p...)
	}
	return body
}
