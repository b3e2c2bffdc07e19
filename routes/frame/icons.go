package frame

import (
	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/icons"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// Icons are the icons of catalog rows on pages. Rows of products with a built-in
// logo need none.
type Icons struct {
	catalog *catalog.Catalog
	icons   *icons.Icons
}

// NewIcons returns the icons of a catalog. stored may be nil.
func NewIcons(c *catalog.Catalog, stored *icons.Icons) *Icons { return &Icons{c, stored} }

// OfEntry returns the path of the icon of a catalog row, or "" while there is
// none.
func (i *Icons) OfEntry(e *models.CatalogEntry) string { return i.of(e, e.ServerTitle) }

// OfServer returns the path of the icon of the catalog row with the URL of a
// server, or "".
func (i *Icons) OfServer(alias, address string) string {
	e := i.catalog.EntryAt(address)
	if e == nil {
		return ""
	}
	return i.of(e, alias)
}

func (i *Icons) of(e *models.CatalogEntry, title string) string {
	if e.IconURL == "" || ui.LogoPath(ui.Clean(title)) != "" {
		return ""
	}
	if hash := i.icons.Hash(e.IconURL); hash != "" {
		return paths.Icon(hash)
	}
	return ""
}
