package toolset

import (
	"crypto/sha256"
	"encoding/hex"
)

// Era distinguishes clients that need different lists.
type Era uint8

// The eras of clients: those with a handshake (up to revision 2025-11-25) and
// stateless ones (from 2026-07-28).
const (
	EraHandshake Era = iota
	EraStateless
)

// Limits of a page of tools/list (contract, "Built-in tools").
const (
	MaxPageTools = 10_000
	MaxPageBytes = 16 << 20
)

// Page returns page n (from 0) of the visible tools as a JSON array, which is
// created on first use. more reports whether another page follows. ok is false
// if the page doesn't exist; page 0 always does. The caller must not modify the
// bytes.
func (s *Snapshot) Page(era Era, n int) (array []byte, more, ok bool) {
	return pageOf(s.lists[era]().pages, n)
}

func pageOf(pages [][]byte, n int) (array []byte, more, ok bool) {
	if n < 0 || n >= len(pages) {
		return nil, false, false
	}
	return pages[n], n+1 < len(pages), true
}

// Pages returns the number of pages of tools/list for the era.
func (s *Snapshot) Pages(era Era) int { return len(s.lists[era]().pages) }

func buildPages[T any](items []T, bytesOf func(T) []byte) [][]byte {
	var pages [][]byte
	for {
		n, size := 0, 2
		for n < len(items) && n < MaxPageTools {
			next := len(bytesOf(items[n])) + 1
			if n > 0 && size+next > MaxPageBytes {
				break
			}
			size += next
			n++
		}
		page := make([]byte, 0, size)
		page = append(page, '[')
		for i, item := range items[:n] {
			if i > 0 {
				page = append(page, ',')
			}
			page = append(page, bytesOf(item)...)
		}
		pages = append(pages, append(page, ']'))
		if items = items[n:]; len(items) == 0 {
			return pages
		}
	}
}

// ToolsHash identifies the content of the listed tools.
func (s *Snapshot) ToolsHash() string { return s.toolsHash() }

// ListID identifies the listed tools of the era. It changes when any page does.
// Cursors contain it, so that pages of two lists are never mixed.
func (s *Snapshot) ListID(era Era) string { return s.lists[era]().id }

func listID(pages [][]byte) string {
	h := sha256.New()
	for _, p := range pages {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
