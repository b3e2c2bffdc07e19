// Package admin holds the pages of the administration, one file per page. Each
// page is a component that takes its props; viewers get it without controls.
package admin
