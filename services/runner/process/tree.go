//go:build linux || darwin

package process

import "os"

// running is a process that has not ended.
type running struct{ pid, parent int }

// tree returns the processes that descend from root (0 for none) or whose marker
// belongs accepts. This process is never among them, nor are processes that have
// ended. starting reports whether this process has a child whose environment can't
// be read because it is starting.
func tree(root int, belongs func(marker string) bool) (found []int, starting bool) {
	all, self := processes(), os.Getpid()
	parents, members := make(map[int]int, len(all)), make(map[int]bool, len(all))
	for _, p := range all {
		if p.pid != self {
			parents[p.pid] = p.parent
			members[p.pid] = p.pid == root || hasMarker(p.pid, belongs)
			starting = starting || !members[p.pid] && p.parent == self && isStarting(p.pid)
		}
	}
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
	return found, starting
}

// Memories returns the resident memory of several programs in bytes, as Memory
// does for each.
func Memories(programs []*Process) []int64 {
	roots, markers := make(map[int]int, len(programs)), make(map[string]int, len(programs))
	for i, p := range programs {
		select {
		case <-p.done: // its id can be that of another process
		default:
			roots[p.pid] = i
		}
		markers[p.marker] = i
	}
	all, self, sums := processes(), os.Getpid(), make([]int64, len(programs))
	parents, owners := make(map[int]int, len(all)), make(map[int]int, len(all))
	for _, p := range all {
		if p.pid != self {
			parents[p.pid] = p.parent
		}
	}
	for _, p := range all {
		if i, found := owner(p.pid, parents, roots, markers, owners); found {
			sums[i] += resident(p.pid)
		}
	}
	return sums
}

// noOwner is the result for processes of no program.
const noOwner = -1

// owner returns the index of the program that a process belongs to. owners has
// the results so far.
func owner(pid int, parents, roots map[int]int, markers map[string]int, owners map[int]int) (int, bool) {
	if i, known := owners[pid]; known {
		return i, i != noOwner
	}
	parent, running := parents[pid]
	if !running || pid <= 1 {
		return noOwner, false
	}
	owners[pid] = noOwner // ends the search if ids were assigned again
	i, found := roots[pid]
	if !found {
		i, found = owner(parent, parents, roots, markers, owners)
	}
	if !found {
		found = hasMarker(pid, func(marker string) bool {
			of, ok := markers[marker]
			if ok {
				i = of
			}
			return ok
		})
	}
	if found {
		owners[pid] = i
	}
	return i, found
}
