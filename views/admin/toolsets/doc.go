// Package toolsets renders the pages of a project's toolsets.
package toolsets
