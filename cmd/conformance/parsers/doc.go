// Package parsers has tests that read what `gateway print` writes with the parsers
// of its readers. It is a separate module, so that the gateway's module doesn't
// have their dependencies.
package parsers
