// Package install writes what a person pastes into an MCP client to use a
// server: one snippet per client, with links that open an editor where it has
// them. A secret never stands in a link; snippets name it by a placeholder.
package install
