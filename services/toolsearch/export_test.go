package toolsearch

// LimitTools replaces MaxIndexedTools, so that a test can use fewer tools.
func (s *Searcher) LimitTools(n int) { s.limit = n }

// Kept returns the number of cached indexes and their number of tools.
func (s *Searcher) Kept() (projects, tools int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.projects {
		if n := p.ready.size(); n > 0 {
			projects++
			tools += n
		}
	}
	if tools != s.tools {
		return -1, s.tools
	}
	return projects, tools
}
