package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/sources"
)

// catalogCommand runs the subcommands of `gateway catalog`.
func catalogCommand(ctx context.Context, std streams, args []string) error {
	if len(args) == 0 || args[0] != "import" {
		return usagef("missing subcommand: import")
	}
	return catalogImport(ctx, std, args[1:])
}

func catalogImport(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "catalog import")
	file := fs.String("file", "", "file in the catalog's format; - for standard input")
	from := fs.String("from", "", "URL of a registry with the official API, or of a .json file in the catalog's format")
	dryRun := fs.Bool("dry-run", false, "print the plan and change nothing")
	if err := parse(fs, args); err != nil {
		return err
	}
	switch {
	case *file == "" && *from == "":
		return usagef("--file or --from is required")
	case *file != "" && *from != "":
		return usagef("--file and --from are mutually exclusive")
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
	var plan catalog.Plan
	if *from != "" {
		plan, err = store.ImportURL(ctx, *from, *dryRun)
	} else {
		plan, err = importFile(ctx, store, std.in, *file, *dryRun)
	}
	if err != nil {
		return err
	}
	printCatalogPlan(std.out, plan)
	return nil
}

// importFile imports the file at path, or standard input for "-".
func importFile(ctx context.Context, store *catalog.Store, in io.Reader, path string, dryRun bool) (catalog.Plan, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return catalog.Plan{}, err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, sources.MaxFileBytes+1))
	if err != nil {
		return catalog.Plan{}, err
	}
	plan, err := store.ImportFile(ctx, raw, dryRun)
	if err != nil {
		return plan, fmt.Errorf("%s: %w", path, err)
	}
	return plan, nil
}

func printCatalogPlan(w io.Writer, plan catalog.Plan) {
	signs := map[catalog.Action]string{
		catalog.ActionAdd: "+", catalog.ActionUpdate: "~", catalog.ActionDelete: "-", catalog.ActionLocked: "=", catalog.ActionTaken: "=",
	}
	reasons := map[catalog.Action]string{
		catalog.ActionLocked: ": skipped, because it was edited here", catalog.ActionTaken: ": skipped, because another source has this name",
	}
	for _, c := range plan.Changes {
		what := "server  "
		if c.Template {
			what = "template"
		}
		fmt.Fprintln(w, signs[c.Action], what, c.Name+reasons[c.Action])
	}
	if hidden := plan.Added + plan.Updated + plan.Deleted + plan.Locked + plan.Conflicts - len(plan.Changes); hidden > 0 {
		fmt.Fprintf(w, "… and %d more\n", hidden)
	}
	for _, warning := range plan.Warnings {
		fmt.Fprintln(w, "! "+warning)
	}
	done := "imported"
	if plan.DryRun {
		done = "nothing was changed (dry run)"
	}
	fmt.Fprintf(w, "%d read: %d to add, %d to update, %d to delete, %d unchanged, %d skipped, %d invalid: %s\n",
		plan.Fetched, plan.Added, plan.Updated, plan.Deleted, plan.Unchanged, plan.Locked+plan.Conflicts, plan.Skipped, done)
}
