// Package admin holds the admin pages, one file per page. Each page is a component
// with props. Viewers get the pages without controls.
package admin
