package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/catalog/sources"
)

// catalogCommand runs the subcommands of `gateway catalog`.
func catalogCommand(ctx context.Context, std streams, args []string) error {
	if len(args) == 0 || args[0] != "import" {
		return subcommandError(args, "import")
	}
	return catalogImport(ctx, std, args[1:])
}

func catalogImport(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "catalog import")
	file := fs.String("file", "", "file in the catalog's format; - for standard input")
	from := fs.String("from", "", "URL of a registry with the official API, or of a .json file in the catalog's format")
	dryRun := fs.Bool("dry-run", false, "print the plan and change nothing")
	approved := fs.Int("approve-removals", 0, "with --from, apply the import even if it removes up to `N` rows")
	if err := parse(fs, args); err != nil {
		return err
	}
	switch {
	case *file == "" && *from == "":
		return usagef("--file or --from is required")
	case *file != "" && *from != "":
		return usagef("--file and --from are mutually exclusive")
	case *approved < 0 || *approved > 0 && *from == "":
		return usagef("--approve-removals requires --from and a positive number")
	}
	s, err := open(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx = operator(ctx)
	store := s.CatalogStore
	if err := store.LoadDefaults(ctx); err != nil {
		return err
	}
	var plan importer.Plan
	if *from != "" {
		plan, err = store.ImportURL(ctx, *from, catalog.Run{DryRun: *dryRun, Approved: *approved})
	} else {
		plan, err = importFile(ctx, store, std.in, *file, *dryRun)
	}
	if err != nil {
		return err
	}
	printCatalogPlan(std.out, plan)
	if plan.Held && !plan.DryRun {
		return fmt.Errorf("the import would remove %d of %d rows, more than 20 %%: nothing was changed; to apply it, add --approve-removals %d", plan.Deleted, plan.Had, plan.Deleted)
	}
	return nil
}

// importFile imports the file at path, or standard input for "-".
func importFile(ctx context.Context, store *catalog.Store, in io.Reader, path string, dryRun bool) (importer.Plan, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return importer.Plan{}, err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, sources.MaxFileBytes+1))
	if err != nil {
		return importer.Plan{}, err
	}
	plan, err := store.ImportFile(ctx, raw, dryRun)
	if err != nil {
		return plan, fmt.Errorf("%s: %w", path, err)
	}
	return plan, nil
}

func printCatalogPlan(w io.Writer, plan importer.Plan) {
	signs := map[importer.Action]string{
		importer.ActionAdd: "+", importer.ActionUpdate: "~", importer.ActionDelete: "-", importer.ActionLocked: "=", importer.ActionTaken: "=",
	}
	reasons := map[importer.Action]string{
		importer.ActionLocked: ": skipped, because it was edited here", importer.ActionTaken: ": skipped, because another source has this name",
	}
	for _, c := range plan.Changes {
		what := "server  "
		if c.Template {
			what = "template"
		}
		fmt.Fprintln(w, signs[c.Action], what, c.Name+reasons[c.Action])
		for _, m := range c.Members {
			fmt.Fprintf(w, "    %s: %s\n", m.Name, m)
		}
	}
	if hidden := plan.Added + plan.Updated + plan.Deleted + plan.Locked + plan.Conflicts - len(plan.Changes); hidden > 0 {
		fmt.Fprintf(w, "… and %d more\n", hidden)
	}
	for _, warning := range plan.Warnings {
		fmt.Fprintln(w, "! "+warning)
	}
	done := "imported"
	switch {
	case plan.DryRun && plan.Held:
		done = fmt.Sprintf("nothing was changed (dry run); the import needs --approve-removals %d", plan.Deleted)
	case plan.DryRun:
		done = "nothing was changed (dry run)"
	case plan.Held:
		done = "nothing was changed"
	case plan.Same:
		done = "the document is unchanged"
	}
	fmt.Fprintf(w, "%d read: %d to add, %d to update, %d to delete, %d unchanged, %d skipped, %d invalid: %s\n",
		plan.Fetched, plan.Added, plan.Updated, plan.Deleted, plan.Unchanged, plan.Locked+plan.Conflicts, plan.Skipped, done)
}
