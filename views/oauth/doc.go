// Package oauth holds the pages of the authorization server for MCP clients.
package oauth
