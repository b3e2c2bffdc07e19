// Package layout renders the frame of every page: the side bar of the admin pages,
// the top bar of the public pages, and the tabs of a project.
package layout
