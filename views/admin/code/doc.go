// Package code holds the Code Mode pages of a project: the workbench, its
// settings, and the stored runs. Viewers get the pages without controls.
package code
