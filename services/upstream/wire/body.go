package wire

import (
	"errors"
	"io"
)

// Pieces in which a body of unknown length is read, or one whose claimed length
// is more than trusted.
const (
	minPiece = 512
	maxPiece = 1 << 20
)

const (
	// trusted is the number of bytes that are allocated because of a claimed
	// length alone. More is allocated only as it arrives.
	trusted = 128 << 10
	// Unreserved is the length up to which a body reserves no memory.
	Unreserved = 64 << 10
)

// ErrTooLong is returned for a body that is longer than it may be.
var ErrTooLong = errors.New("the body is too long")

// ReadBounded reads a body of the length, which is negative when unknown, to
// its end. It costs little more than the body, unlike a buffer that is moved
// as it grows. reserve is called once for a body of more than 64 KiB. It returns
// how many bytes the body may have, at most max, or an error. Other errors are
// errTooLong, or that of the reader; a body that is shorter than its length ends
// with io.ErrUnexpectedEOF.
func ReadBounded(r io.Reader, length, max int64, reserve func() (int64, error)) ([]byte, error) {
	if length > max {
		return nil, ErrTooLong
	}
	if 0 <= length && length <= trusted {
		return readTrusted(r, length, reserve)
	}
	var pieces [][]byte
	var read int64
	reserved := false
	for size := int64(minPiece); ; size = min(2*size, maxPiece) {
		if !reserved && read+size > Unreserved {
			var err error
			if max, err = reserve(); err != nil {
				return nil, err
			}
			if length > max {
				return nil, ErrTooLong
			}
			if length >= 0 {
				return readRest(r, pieces, length)
			}
			reserved = true
		}
		if read > max {
			return nil, ErrTooLong
		}
		piece := make([]byte, min(size, max+1-read))
		n, err := io.ReadFull(r, piece)
		read += int64(n)
		pieces = append(pieces, piece[:n])
		switch {
		case read > max:
			return nil, ErrTooLong
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

// readTrusted reads a body in one piece.
func readTrusted(r io.Reader, length int64, reserve func() (int64, error)) ([]byte, error) {
	if length > Unreserved {
		if max, err := reserve(); err != nil {
			return nil, err
		} else if length > max {
			return nil, ErrTooLong
		}
	}
	return readRest(r, nil, length)
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
