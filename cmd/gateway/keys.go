package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"mcpgateway/models"
	"mcpgateway/services"
	access "mcpgateway/services/access/keys"
	"mcpgateway/services/secrets"
)

func keys(ctx context.Context, std streams, args []string) error {
	verbs := map[string]func(context.Context, streams, []string) error{
		"create": keysCreate, "list": keysList, "rotate": keysRotate, "revoke": keysRevoke,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return subcommandError(args, "create, list, rotate or revoke")
	}
	return verbs[args[0]](ctx, std, args[1:])
}

// withProject parses the flags and --project, opens the services and calls do
// with the project.
func withProject(ctx context.Context, std streams, fs *flag.FlagSet, args []string, do func(*services.Services, models.Project) error) error {
	slug := fs.String("project", "", "slug of the project")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *slug == "" {
		return usagef("--project is required")
	}
	s, err := openExisting(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	project, err := s.Projects.Project(ctx, *slug)
	if err != nil {
		return err
	}
	return do(s, project)
}

func keysCreate(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "keys create")
	name := fs.String("name", "", "what the key is for")
	expires := fs.Duration("expires", 0, "lifetime of the key, such as 720h; 0 means no expiry")
	var toolsets []string
	fs.Func("toolset", "slug of a toolset that the key can use (repeatable); default everything", func(slug string) error {
		toolsets = append(toolsets, slug)
		return nil
	})
	return withProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		_, text, err := s.Keys.CreateScoped(operator(ctx), p.ID, access.Attributes{Name: *name, Lifetime: *expires, Toolsets: toolsets})
		return printKey(std, text, err)
	})
}

func keysRotate(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "keys rotate")
	id := fs.String("id", "", "id of the key")
	grace := fs.Duration("grace", 0, "how long the old key remains valid, such as 1h")
	return withProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		if *id == "" {
			return usagef("--id is required")
		}
		_, text, err := s.Keys.Rotate(operator(ctx), p.ID, *id, *grace)
		return printKey(std, text, err)
	})
}

func keysRevoke(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "keys revoke")
	id := fs.String("id", "", "id of the key")
	return withProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		if *id == "" {
			return usagef("--id is required")
		}
		return s.Keys.Revoke(operator(ctx), p.ID, *id)
	})
}

// printKey prints only the new key, so that scripts can use the output.
func printKey(std streams, text secrets.Value, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, text.Reveal())
	return err
}

func keysList(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "keys list")
	asJSON := fs.Bool("json", false, "print JSON")
	return withProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		rows, err := s.Keys.List(ctx, p.ID)
		if err != nil {
			return err
		}
		details, err := s.Keys.Details(ctx, rows...)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(std.out).Encode(map[string]any{"items": keyRecords(rows, details), "count": len(rows)})
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintf(std.out, "Project %s has no keys. Create one with: gateway keys create --project %s\n", p.Slug, p.Slug)
			return err
		}
		w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tPREFIX\tCREATED\tEXPIRES\tLAST USED\tSTATE\tOWNER\tTOOLSETS")
		for _, k := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Prefix, k.CreatedAt.UTC().Format(time.RFC3339), moment(k.ExpiresAt), moment(k.LastUsedAt), state(k), ownerName(details[k.ID]), scope(details[k.ID]))
		}
		return w.Flush()
	})
}

type keyRecord struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
	Owner      *keyOwner  `json:"owner"`    // of a personal key
	Toolsets   []string   `json:"toolsets"` // slugs; null is everything
}

type keyOwner struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func keyRecords(rows []models.Key, details map[string]access.Details) []keyRecord {
	out := make([]keyRecord, len(rows))
	for i, k := range rows {
		out[i] = keyRecord{k.ID, k.Name, k.Prefix, k.CreatedAt, k.ExpiresAt, k.LastUsedAt, k.RevokedAt, nil, details[k.ID].Slugs()}
		if owner := details[k.ID].Owner; owner != nil {
			out[i].Owner = &keyOwner{owner.ID, owner.Name}
		}
	}
	return out
}

// ownerName returns the name of the owner of a personal key, or "-".
func ownerName(d access.Details) string {
	if d.Owner == nil {
		return "-"
	}
	return cmp.Or(d.Owner.Name, d.Owner.ID)
}

// scope returns the toolsets that a key can use.
func scope(d access.Details) string {
	if !d.Limited {
		return "everything"
	}
	return strings.Join(d.Slugs(), ",")
}

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func state(k models.Key) string { return tokenState(k.RevokedAt, k.ExpiresAt) }

// tokenState returns the state of a key or a token.
func tokenState(revoked, expires *time.Time) string {
	switch {
	case revoked != nil:
		return "revoked"
	case expires != nil && !time.Now().Before(*expires):
		return "expired"
	default:
		return "active"
	}
}
