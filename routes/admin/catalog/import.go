package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// importPurpose distinguishes sealed documents from other sealed tokens.
const importPurpose = "catalog document that is being imported"

// maxImport is the maximum size of a document in bytes. It is posted back sealed,
// which is a third larger and must fit into a request body.
const maxImport = 600 << 10

// Import serves the import of documents in the catalog's own format.
type Import struct {
	pages *frame.Pages
	store *catalog.Store
	seal  *secrets.KeyRing
}

// NewImport returns the handlers.
func NewImport(pages *frame.Pages, store *catalog.Store, seal *secrets.KeyRing) *Import {
	return &Import{pages, store, seal}
}

// Show serves GET /admin/catalog/import.
func (a *Import) Show(c *fiber.Ctx) error { return a.page(c, "", nil) }

// page renders the form. failed is the error of a rejected document, or nil.
func (a *Import) page(c *fiber.Ctx, text string, failed error) error {
	problems, err := frame.Fields(c, failed)
	if err != nil {
		return err
	}
	return web.Render(c, views.CatalogImport(views.CatalogImportProps{Frame: a.frame(c), Text: text, Errors: problems}))
}

func (a *Import) frame(c *fiber.Ctx) layout.Frame {
	f := a.pages.Frame(c, "Import a file", layout.SectionCatalog)
	f.Crumbs = []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Sources", URL: paths.Catalog}, {Label: "Import a file"}}
	return f
}

// Preview serves POST /admin/catalog/import. It renders the changes that a chosen
// or pasted document would make.
func (a *Import) Preview(c *fiber.Ctx) error {
	text, err := postedDocument(c)
	var plan importer.Plan
	if err == nil {
		plan, err = a.apply(c.UserContext(), text, true)
	}
	if err != nil {
		return a.page(c, text, err)
	}
	props := planProps(plan)
	props.Frame, props.Title, props.ApplyURL, props.BackURL = a.frame(c), "Import a file", paths.CatalogImportApply, paths.CatalogImport
	props.Hidden = []ui.Pair{{Name: "sealed", Value: a.seal.SealToken(importPurpose, []byte(text))}}
	return web.Render(c, views.CatalogPlan(props))
}

// postedDocument returns the chosen or pasted document.
func postedDocument(c *fiber.Ctx) (string, error) {
	pasted := web.FormValue(c, "document")
	file, err := web.PostedFile(c, "file", maxImport+1)
	switch {
	case err != nil:
		return "", fault.Internal(err)
	case len(file) == 0 && strings.TrimSpace(pasted) == "":
		return "", fault.Validation(map[string]string{"": "Choose a file or paste JSON."})
	case len(file) > 0 && strings.TrimSpace(pasted) != "":
		return pasted, fault.Validation(map[string]string{"": "Choose a file or paste JSON, not both."})
	case len(file) > 0:
		return string(file), nil
	}
	return pasted, nil
}

func (a *Import) apply(ctx context.Context, text string, dryRun bool) (importer.Plan, error) {
	if len(text) > maxImport {
		return importer.Plan{}, fault.Validation(map[string]string{"": fmt.Sprintf("The file is larger than %d KiB. Use gateway catalog import instead.", maxImport>>10)})
	}
	return a.store.ImportFile(ctx, []byte(text), dryRun)
}

// Apply serves POST /admin/catalog/import/apply. It applies the shown changes.
func (a *Import) Apply(c *fiber.Ctx) error {
	text, err := a.seal.OpenToken(importPurpose, web.FormValue(c, "sealed"))
	if err != nil {
		return frame.Failed(c, paths.CatalogImport, fault.Invalid("The import has expired. Choose or paste the file again."))
	}
	plan, err := a.apply(c.UserContext(), string(text), false)
	if err != nil {
		return frame.Failed(c, paths.CatalogImport, err)
	}
	return frame.Done(c, paths.CatalogSource(catalog.SourceFile), "Imported: "+planWords(plan))
}
