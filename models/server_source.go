package models

// ServerSource is the kind of file that declares a server.
type ServerSource string

// The sources of servers. Servers that the pages, the API or apply create have
// none.
const (
	SourceNone      ServerSource = ""
	SourceLocal     ServerSource = "local"     // a file of `serve --local`
	SourceConfig    ServerSource = "config"    // a command in the file of `serve --config`
	SourceConnector ServerSource = "connector" // the file of a runner on another computer
)

// Transports of servers that are programs. They are shown but not stored: the
// stored transport of a program is TransportAuto.
const (
	TransportStdio     Transport = "stdio"
	TransportConnector Transport = "connector"
)

// IsProgram reports whether a runner starts the server.
func (s *Server) IsProgram() bool { return s.Entry != "" }

// ShownTransport returns the transport for display.
func (s *Server) ShownTransport() Transport {
	switch {
	case !s.IsProgram():
		return s.Transport
	case s.Source == SourceConnector:
		return TransportConnector
	}
	return TransportStdio
}
