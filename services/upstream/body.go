package upstream

import (
	"errors"
	"io"
)

// Pieces in which a body of unknown length is read.
const (
	minPiece = 512
	maxPiece = 1 << 20
)

// trusted is the number of bytes that are allocated because of a claimed length
// alone. More is allocated only as it arrives.
const trusted = 128 << 10

// errTooLong says that a body is longer than it may be.
var errTooLong = errors.New("the body is too long")

// readBounded reads a body of the length, which is negative when unknown, to
// its end. It costs little more than the body, unlike a buffer that is moved
// as it grows. The error is errTooLong beyond max bytes, or that of the reader;
// a body that is shorter than its length ends with io.ErrUnexpectedEOF.
func readBounded(r io.Reader, length, max int64) ([]byte, error) {
	if length > max {
		return nil, errTooLong
	}
	if length >= 0 {
		return readClaimed(r, int(length))
	}
	var pieces [][]byte
	var read int64
	for size := int64(minPiece); ; size = min(2*size, maxPiece) {
		piece := make([]byte, min(size, max+1-read))
		n, err := io.ReadFull(r, piece)
		read += int64(n)
		pieces = append(pieces, piece[:n])
		switch {
		case read > max:
			return nil, errTooLong
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if len(pieces) == 1 {
				return pieces[0], nil
			}
			body := make([]byte, 0, read)
			for _, p := range pieces {
				body = append(body, p...)
			}
			return body, nil
		case err != nil:
			return nil, err
		}
	}
}

// readClaimed reads a body of the length. What it allocates is at most trusted
// bytes, or twice the bytes that have arrived.
func readClaimed(r io.Reader, length int) ([]byte, error) {
	body, read := make([]byte, min(length, trusted)), 0
	for {
		n, err := io.ReadFull(r, body[read:])
		if read += n; err != nil || read == length {
			if errors.Is(err, io.EOF) && length > 0 {
				err = io.ErrUnexpectedEOF
			}
			return body[:read], err
		}
		grown := make([]byte, min(2*read, length))
		copy(grown, body)
		body = grown
	}
}
