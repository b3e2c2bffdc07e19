package embeddings

import (
	"errors"
	"math"
)

// vector is a unit vector with signed bytes, which take a quarter of the memory
// of float32 and change a cosine by less than 0.01. Its length is that of its bytes.
type vector struct {
	bytes  []int8
	length float32 // greater than 0
}

// errVector is the error of an invalid vector.
var errVector = errors.New("the vector is empty, zero or too long")

// newVector returns the vector with the direction of the numbers.
func newVector(numbers []float32) (vector, error) {
	if len(numbers) == 0 || len(numbers) > maxDimensions {
		return vector{}, errVector
	}
	peak := float32(0)
	for _, n := range numbers {
		peak = max(peak, n, -n)
	}
	if peak == 0 || math.IsInf(float64(peak), 0) || peak != peak {
		return vector{}, errVector
	}
	bytes := make([]int8, len(numbers))
	for i, n := range numbers {
		bytes[i] = int8(math.Round(float64(n) / float64(peak) * math.MaxInt8))
	}
	return measured(bytes)
}

// fromRow returns the vector with the bytes of a row.
func fromRow(row []byte) (vector, error) {
	if len(row) == 0 || len(row) > maxDimensions {
		return vector{}, errVector
	}
	bytes := make([]int8, len(row))
	for i, b := range row {
		bytes[i] = int8(b)
	}
	return measured(bytes)
}

func measured(bytes []int8) (vector, error) {
	v := vector{bytes: bytes}
	sum := dot(bytes, bytes)
	if sum == 0 {
		return vector{}, errVector
	}
	v.length = float32(math.Sqrt(float64(sum)))
	return v, nil
}

// row returns the bytes for a row.
func (v vector) row() []byte {
	row := make([]byte, len(v.bytes))
	for i, b := range v.bytes {
		row[i] = byte(b)
	}
	return row
}

// size returns the memory of the vector in bytes.
func (v vector) size() int { return len(v.bytes) + vectorOverhead }

// cosine returns the cosine of the angle between two vectors. ok is false if
// they have different dimensions.
func (v vector) cosine(other vector) (cosine float64, ok bool) {
	if len(v.bytes) != len(other.bytes) {
		return 0, false
	}
	return float64(dot(v.bytes, other.bytes)) / (float64(v.length) * float64(other.length)), true
}

// dot returns the dot product of two vectors of the same dimensions. It can't
// overflow: 4,096 products of at most 2^14.
func dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 8 && len(b) >= 8 { // arrays need no bounds checks
		x, y := (*[8]int8)(a), (*[8]int8)(b)
		s0 += int32(x[0])*int32(y[0]) + int32(x[4])*int32(y[4])
		s1 += int32(x[1])*int32(y[1]) + int32(x[5])*int32(y[5])
		s2 += int32(x[2])*int32(y[2]) + int32(x[6])*int32(y[6])
		s3 += int32(x[3])*int32(y[3]) + int32(x[7])*int32(y[7])
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
