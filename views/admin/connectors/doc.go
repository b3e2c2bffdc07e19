// Package connectors contains the pages of the runners on other computers.
package connectors
