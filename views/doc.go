// Package views holds the pages: typed components in templ, without logic.
package views

//go:generate go tool templ generate
