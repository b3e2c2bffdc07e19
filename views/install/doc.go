// Package install writes what a person pastes into an MCP client to use a
// server: one snippet per client, with links that open an editor where it has
// them. Links never contain a secret; snippets use a placeholder.
package install
