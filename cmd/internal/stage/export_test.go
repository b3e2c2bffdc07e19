package stage

// Output returns the end of what the program printed.
func (p *Process) Output() string { return p.output.String() }

// Ended is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }
