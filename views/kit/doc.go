// Package kit is the page that shows every part of views/ui in every state.
package kit
