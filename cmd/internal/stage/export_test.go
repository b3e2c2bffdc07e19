package stage

// Output returns the end of the program's output.
func (p *Process) Output() string { return p.output.String() }

// Ended returns a channel that is closed when the program has exited.
func (p *Process) Ended() <-chan struct{} { return p.ended }
