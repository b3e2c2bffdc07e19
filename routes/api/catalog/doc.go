// Package catalog serves the administration of the catalog as JSON.
package catalog

// Handlers serve the routes below /api/catalog.
type Handlers struct {
	Sources  *Sources
	Requests *Requests
	Views    *Views
	Keys     *Keys
	Checks   *Checks
}
