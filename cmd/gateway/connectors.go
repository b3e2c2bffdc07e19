package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/runners/connectors"
)

// connectorsCommand manages the runners on other computers.
func connectorsCommand(ctx context.Context, std streams, args []string) error {
	verbs := map[string]func(context.Context, streams, []string) error{
		"create": connectorsCreate, "list": connectorsList, "revoke": connectorsRevoke,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return subcommandError(args, "create, list or revoke")
	}
	return verbs[args[0]](ctx, std, args[1:])
}

func connectorsCreate(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "connectors create")
	name := fs.String("name", "", "which computer it is")
	expires := fs.Duration("expires", connectors.DefaultLifetime, "lifetime of the token, such as 2160h")
	return withProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		if *name == "" {
			return usagef("--name is required")
		}
		if *expires < time.Second {
			return usagef("--expires takes a time of at least 1s, such as 2160h")
		}
		_, token, err := s.Connectors.Create(operator(ctx), p.ID, connectors.Attributes{Name: *name, Lifetime: *expires})
		return printKey(std, token, err)
	})
}

func connectorsRevoke(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "connectors revoke")
	id := fs.String("id", "", "id of the connector")
	return withProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		if *id == "" {
			return usagef("--id is required")
		}
		return s.Connectors.Revoke(operator(ctx), p.ID, *id)
	})
}

// connectorRecord is a connector as `connectors list --json` prints it.
type connectorRecord struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt"`
	LastSeenAt *time.Time `json:"lastSeenAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
}

func connectorsList(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "connectors list")
	asJSON := fs.Bool("json", false, "print JSON")
	return withProject(ctx, std, fs, args, func(s *services.Services, p models.Project) error {
		rows, err := s.Connectors.List(ctx, p.ID)
		if err != nil {
			return err
		}
		if *asJSON {
			items := make([]connectorRecord, len(rows))
			for i, c := range rows {
				items[i] = connectorRecord{c.ID, c.Name, c.Prefix, c.CreatedAt, c.ExpiresAt, c.LastSeenAt, c.RevokedAt}
			}
			return json.NewEncoder(std.out).Encode(map[string]any{"items": items, "count": len(rows)})
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintf(std.out, "Project %s has no connectors. Create one with: gateway connectors create --project %s --name NAME\n", p.Slug, p.Slug)
			return err
		}
		w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tPREFIX\tCREATED\tEXPIRES\tLAST SEEN\tSTATE")
		for _, c := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.ID, c.Name, c.Prefix, moment(&c.CreatedAt), moment(&c.ExpiresAt), moment(c.LastSeenAt), tokenState(c.RevokedAt, &c.ExpiresAt))
		}
		return w.Flush()
	})
}
