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
// as it grows. The error is errTooLong beyond max bytes, or that of the reader;
// a body that is shorter than its length ends with io.ErrUnexpectedEOF.
func readBounded(r io.Reader, length, max int64) ([]byte, error) {
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
	for size := int64(minPiece); ; size = min(2*size, maxPiece) {
		piece := make([]byte, min(size, max+1-read))
		n, err := io.ReadFull(r, piece)
		read += int64(n)
		pieces = append(pieces, piece[:n])
		switch {
		case read > max:
			return nil, errTooLong
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if length >= 0 && read < length {
				return nil, io.ErrUnexpectedEOF
			}
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
