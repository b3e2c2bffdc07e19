// Package install generates the configuration snippets of MCP clients for a server,
// with links that open an editor where a client supports them. Links never contain a secret; snippets use a placeholder.
package install
