package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"text/tabwriter"
	"time"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/secrets"
)

func keys(ctx context.Context, std streams, args []string) error {
	verbs := map[string]func(context.Context, streams, []string) error{
		"create": keysCreate, "list": keysList, "rotate": keysRotate, "revoke": keysRevoke,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return usagef("say what to do: create, list, rotate or revoke")
	}
	return verbs[args[0]](ctx, std, args[1:])
}

// onProject parses the flags, which gain --project, opens the services and
// runs do with the project.
func onProject(ctx context.Context, std streams, fs *flag.FlagSet, args []string, do func(*services.Services, models.Project) error) error {
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
	expires := fs.Duration("expires", 0, "how long the key works, such as 720h; 0 never ends")
	return onProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		_, text, err := s.Keys.Create(operator(ctx), p.ID, *name, *expires)
		return printKey(std, text, err)
	})
}

func keysRotate(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "keys rotate")
	id := fs.String("id", "", "id of the key")
	grace := fs.Duration("grace", 0, "how long the old key still works, such as 1h")
	return onProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
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
	return onProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		if *id == "" {
			return usagef("--id is required")
		}
		return s.Keys.Revoke(operator(ctx), p.ID, *id)
	})
}

// printKey prints a new key alone, so that scripts can take the output as it is.
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
	return onProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		rows, err := s.Keys.List(ctx, p.ID)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(std.out).Encode(map[string]any{"items": keyRecords(rows), "count": len(rows)})
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintf(std.out, "project %s has no keys; gateway keys create --project %s makes one\n", p.Slug, p.Slug)
			return err
		}
		w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tPREFIX\tCREATED\tEXPIRES\tLAST USED\tSTATE")
		for _, k := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Prefix, k.CreatedAt.UTC().Format(time.RFC3339), moment(k.ExpiresAt), moment(k.LastUsedAt), state(k))
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
}

func keyRecords(rows []models.Key) []keyRecord {
	out := make([]keyRecord, len(rows))
	for i, k := range rows {
		out[i] = keyRecord{k.ID, k.Name, k.Prefix, k.CreatedAt, k.ExpiresAt, k.LastUsedAt, k.RevokedAt}
	}
	return out
}

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func state(k models.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !time.Now().Before(*k.ExpiresAt):
		return "expired"
	default:
		return "active"
	}
}
