//go:build linux || darwin

package process

import "os"

// running is a process that has not ended.
type running struct{ pid, parent int }

// tree returns the processes that descend from root (0 for none) or whose marker
// belongs accepts. This process is never among them, nor are processes that have
// ended.
func tree(root int, belongs func(marker string) bool) []int {
	all, self := processes(), os.Getpid()
	parents, members := make(map[int]int, len(all)), make(map[int]bool, len(all))
	for _, p := range all {
		if p.pid != self {
			parents[p.pid] = p.parent
			members[p.pid] = p.pid == root || hasMarker(p.pid, belongs)
		}
	}
	var found []int
	for _, p := range all {
		if p.pid == self {
			continue
		}
		for at, steps := p.pid, 0; at > 1 && steps <= len(all); at, steps = parents[at], steps+1 {
			if members[at] || root != 0 && at == root { // root can have ended
				found = append(found, p.pid)
				break
			}
		}
	}
	return found
}
