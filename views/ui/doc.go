// Package ui holds the parts that pages are made of. Strings are escaped,
// addresses are checked, and nothing needs scripts or styles of its own.
package ui
