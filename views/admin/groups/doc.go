// Package groups renders the pages of groups of users.
package groups
