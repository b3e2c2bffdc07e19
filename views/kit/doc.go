// Package kit holds a page with every component of views/ui in every state.
package kit
