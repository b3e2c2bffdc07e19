package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// maxBytes is the limit of callers.
const maxBytes = 10 << 20

func TestReadBoundedLimits(t *testing.T) {
	const max = 3 << 20
	all := make([]byte, max+1)
	for i := range all {
		all[i] = byte(i * 7)
	}
	broken := errors.New("broken")
	for _, n := range []int{0, 1, minPiece - 1, minPiece, minPiece + 1, maxPrealloc - 1, maxPrealloc, maxPrealloc + 1, maxPiece, max - 1, max, max + 1} {
		for name, length := range map[string]int64{"unknown": -1, "known": int64(n)} {
			got, err := ReadBounded(iotest.HalfReader(bytes.NewReader(all[:n])), length, max, allow(max))
			switch {
			case n > max && !errors.Is(err, ErrTooLong):
				t.Errorf("%d bytes, length %s: %v", n, name, err)
			case n <= max && (err != nil || !bytes.Equal(got, all[:n])):
				t.Errorf("%d bytes, length %s: got %d, %v", n, name, len(got), err)
			}
		}
		if n > max {
			continue
		}
		if _, err := ReadBounded(bytes.NewReader(all[:n]), int64(n)+1, max+1, allow(max+1)); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes of %d: %v", n, n+1, err)
		}
		if _, err := ReadBounded(io.MultiReader(bytes.NewReader(all[:n]), iotest.ErrReader(broken)), -1, max, allow(max)); !errors.Is(err, broken) {
			t.Errorf("%d bytes and a broken connection: %v", n, err)
		}
	}
}

// TestDeclaredLengthIsNotAllocated reads the start of a body that declares a
// large length and then breaks.
func TestDeclaredLengthIsNotAllocated(t *testing.T) {
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ReadBounded(bytes.NewReader([]byte("{")), maxBytes, maxBytes, allow(maxBytes)); !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > maxPrealloc+16<<10 {
		t.Errorf("one byte of 10 MiB allocated %d bytes", allocated)
	}
}

// allow reserves all requested memory.
func allow(max int64) func() (int64, error) {
	return func() (int64, error) { return max, nil }
}

func TestLongBodiesReserveMemoryOnce(t *testing.T) {
	const max = 1 << 20
	all := make([]byte, max)
	refused := errors.New("refused")
	for _, n := range []int{0, 1, Unreserved / 2, Unreserved - minPiece - 1, Unreserved + 1, maxPrealloc, maxPrealloc + 1, max} {
		for name, length := range map[string]int64{"unknown": -1, "known": int64(n)} {
			calls := 0
			reserve := func() (int64, error) { calls++; return max, nil }
			if got, err := ReadBounded(bytes.NewReader(all[:n]), length, max, reserve); err != nil || len(got) != n {
				t.Errorf("%d bytes, length %s: got %d, %v", n, name, len(got), err)
			}
			if long := n > Unreserved; (calls == 1) != long || calls > 1 {
				t.Errorf("%d bytes, length %s: reserved %d times", n, name, calls)
			}
			got, err := ReadBounded(bytes.NewReader(all[:n]), length, max, func() (int64, error) { return 0, refused })
			if long := n > Unreserved; errors.Is(err, refused) != long || long && got != nil {
				t.Errorf("%d bytes, length %s, rejected: %d, %v", n, name, len(got), err)
			}
		}
	}
	for limit, fits := range map[int64]bool{200_000 - 1: false, 200_000: true, 200_000 + 1: true, 10: false} {
		_, err := ReadBounded(bytes.NewReader(all[:200_000]), -1, max, allow(limit))
		if (err == nil) != fits || !fits && !errors.Is(err, ErrTooLong) {
			t.Errorf("200,000 bytes of at most %d: %v", limit, err)
		}
	}
}
