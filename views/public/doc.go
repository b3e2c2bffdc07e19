// Package public holds the pages that every visitor sees.
package public
