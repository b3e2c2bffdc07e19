package rawjson

import (
	"bytes"
	"fmt"
	"hash/maphash"
)

// linearScanNames is the number of names up to which an object's names are compared
// one by one. Larger objects use hashes, so that no text is slow to check.
const linearScanNames = 16

// distinct records a name of the innermost object. It returns an error if the
// object already has that name.
func (s *scanner) distinct(name []byte) error {
	object := &s.open[len(s.open)-1]
	names := s.names[object.first:]
	duplicate := false
	if len(names) < linearScanNames {
		for _, other := range names {
			duplicate = duplicate || bytes.Equal(other, name)
		}
	} else {
		if object.index == nil {
			object.index = newNameIndex(names)
		}
		duplicate = !object.index.add(names, name)
	}
	if duplicate {
		return fmt.Errorf("duplicate member name %.64q", name)
	}
	s.names = append(s.names, name)
	s.maxNames = max(s.maxNames, len(s.names))
	return nil
}

// nameIndex finds names of an object by hash: an open-addressed table of
// indexes into the list of names. The seed is random, so colliding names can't
// be crafted.
type nameIndex struct {
	seed  maphash.Seed
	slots []int32 // index + 1; 0 is free; length is a power of two, at most half full
	used  int
}

func newNameIndex(names [][]byte) *nameIndex {
	x := &nameIndex{seed: maphash.MakeSeed(), slots: make([]int32, 8*linearScanNames)}
	for i := range names {
		x.add(names[:i], names[i])
	}
	return x
}

// add adds the name that will follow names. It returns false if names contains
// it.
func (x *nameIndex) add(names [][]byte, name []byte) bool {
	slot, found := x.find(names, name)
	if found {
		return false
	}
	x.slots[slot] = int32(len(names)) + 1
	if x.used++; 2*x.used > len(x.slots) {
		x.grow(names, name)
	}
	return true
}

// find returns the slot of the name, or the free slot for it.
func (x *nameIndex) find(names [][]byte, name []byte) (slot int, found bool) {
	mask := len(x.slots) - 1
	slot = int(maphash.Bytes(x.seed, name)) & mask
	for x.slots[slot] != 0 {
		if bytes.Equal(names[x.slots[slot]-1], name) {
			return slot, true
		}
		slot = (slot + 1) & mask
	}
	return slot, false
}

// grow doubles the table for names and last.
func (x *nameIndex) grow(names [][]byte, last []byte) {
	x.slots = make([]int32, 2*len(x.slots))
	for i, name := range names {
		slot, _ := x.find(names, name)
		x.slots[slot] = int32(i) + 1
	}
	slot, _ := x.find(names, last)
	x.slots[slot] = int32(len(names)) + 1
}
