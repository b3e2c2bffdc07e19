package addresses

import (
	"cmp"
	"slices"
	"strings"
)

// elders are the oldest of some claims, and the oldest of a server other than
// that one's.
type elders struct{ first, other *claim }

func (e *elders) add(c *claim) {
	switch {
	case c == nil:
	case e.first == nil:
		e.first = c
	case c.alias == e.first.alias:
		if c.rank < e.first.rank {
			e.first = c
		}
	case c.rank < e.first.rank:
		e.first, e.other = c, e.first
	case e.other == nil || c.rank < e.other.rank:
		e.other = c
	}
}

func (e *elders) merge(from elders) { e.add(from.first); e.add(from.other) }

// before returns the oldest of the claims that are older than c and of another
// server, or nil.
func (e *elders) before(c *claim) *claim {
	elder := e.first
	if elder != nil && elder.alias == c.alias {
		elder = e.other
	}
	if elder == nil || elder.rank > c.rank {
		return nil
	}
	return elder
}

// beginning is a literal beginning in the tree of all beginnings, in which the
// parent of a text is the longest other one that it starts with.
type beginning struct {
	text   string
	claims []*claim
	parent int // index, or -1
	above  elders
	below  elders // of this text and of those that start with it
}

// comparePatterns marks the templates and prefixes that overlap with an older
// one of another server: those of which one's literal beginning starts the
// other's.
func (b *Book) comparePatterns() {
	tree := b.tree()
	for i := range tree {
		n := &tree[i]
		if n.parent >= 0 {
			n.above = tree[n.parent].above
			for _, c := range tree[n.parent].claims {
				n.above.add(c)
			}
		}
		for _, c := range n.claims {
			n.below.add(c)
		}
	}
	for i := len(tree) - 1; i >= 0; i-- { // children are after their parents
		n := &tree[i]
		for _, c := range n.claims {
			if elder := cmp.Or(n.above.before(c), n.below.before(c)); elder != nil {
				c.keeper = elder.alias
			}
		}
		if n.parent >= 0 {
			tree[n.parent].below.merge(n.below)
		}
	}
}

// tree returns the literal beginnings in ascending order.
func (b *Book) tree() []beginning {
	tree := make([]beginning, 0, len(b.beginnings))
	for text, claims := range b.beginnings {
		tree = append(tree, beginning{text: text, claims: claims, parent: -1})
	}
	slices.SortFunc(tree, func(x, y beginning) int { return cmp.Compare(x.text, y.text) })
	var path []int // from the root to the current text
	for i := range tree {
		for len(path) > 0 && !strings.HasPrefix(tree[i].text, tree[path[len(path)-1]].text) {
			path = path[:len(path)-1]
		}
		if len(path) > 0 {
			tree[i].parent = path[len(path)-1]
		}
		path = append(path, i)
	}
	return tree
}
