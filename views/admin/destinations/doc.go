// Package destinations renders the pages of the destinations of events.
package destinations
