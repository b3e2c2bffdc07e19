// Package ui holds the parts that pages share.
package ui
