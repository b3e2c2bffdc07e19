// Package recipes has the pages of a project's recipes.
package recipes
