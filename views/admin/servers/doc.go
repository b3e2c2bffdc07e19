// Package servers holds the pages of a project's servers: the list, a server with
// its tools and settings, and the steps that add servers.
package servers
