// Package public holds the public pages.
package public
