package toolset

// Build returns the snapshot of the stored state.
func Build(src Source, target Targets) *Snapshot { return Rebuild(nil, src, target) }
