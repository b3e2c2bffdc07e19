// Package keys renders the pages of a project's API keys.
package keys
