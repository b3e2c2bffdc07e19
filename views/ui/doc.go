// Package ui holds the parts that pages are made of. Strings are escaped,
// addresses are checked, and no part needs extra scripts or styles.
package ui
