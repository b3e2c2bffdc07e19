package wire

import (
	"errors"
	"io"
)

// Sizes of the pieces of a body whose length is unknown or larger than trusted.
const (
	minPiece = 512
	maxPiece = 1 << 20
)

const (
	// maxPrealloc is the maximum number of bytes allocated because of a declared
	// length. More is allocated only as data arrives.
	maxPrealloc = 128 << 10
	// Unreserved is the maximum size of a body that needs no reservation.
	Unreserved = 64 << 10
)

// ErrTooLong is returned for a body over the limit.
var ErrTooLong = errors.New("body is too long")

// ReadBounded reads a body to its end. length is negative if unknown. It uses
// little more memory than the body, unlike a buffer that is copied as it grows.
// reserve is called once for a body larger than 64 KiB. It returns the maximum
// size, at most max, or an error. Other errors are ErrTooLong, or that of the
// reader. If the body is shorter than length, the error is io.ErrUnexpectedEOF.
func ReadBounded(r io.Reader, length, max int64, reserve func() (int64, error)) ([]byte, error) {
	if length > max {
		return nil, ErrTooLong
	}
	if 0 <= length && length <= maxPrealloc {
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
			if length >= 0 { // the body is shorter than declared
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

// readTrusted reads a body of a trusted length into one buffer.
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

// readRest reads the rest of a body after its first pieces.
func readRest(r io.Reader, pieces [][]byte, length int64) ([]byte, error) {
	first := join(pieces, length)
	body := first[:length]
	_, err := io.ReadFull(r, body[len(first):])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// join returns the pieces as one slice with capacity for size bytes.
func join(pieces [][]byte, size int64) []byte {
	body := make([]byte, 0, size)
	for _, p := range pieces {
		body = append(body, p...)
	}
	return body
}
