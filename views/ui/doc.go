// Package ui holds the components of pages. They escape strings and validate URLs,
// and none requires its own scripts or styles.
package ui
