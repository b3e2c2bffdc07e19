package main

import (
	"context"
	"fmt"
	"os/user"
	"strconv"
	"syscall"

	"mcpgateway/services/activity"
)

// audit implements `gateway audit`. verify prints the number of rows, the
// hash of the last and the number of rows with a MAC, or fails with the first
// wrong row.
func audit(ctx context.Context, std streams, args []string) error {
	if len(args) > 0 && args[0] == "export" {
		return exportAudit(ctx, std, args[1:])
	}
	if len(args) == 0 || args[0] != "verify" {
		return subcommandError(args, "verify or export")
	}
	if err := parse(flags(std, "audit verify"), args[1:]); err != nil {
		return err
	}
	s, err := openExisting(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := s.Audit.Verify(ctx)
	if err != nil {
		return err
	}
	if found.Count == 0 {
		_, err = fmt.Fprintln(std.out, "The audit log is empty.")
		return err
	}
	if found.Removed > 0 {
		if _, err := fmt.Fprintf(std.out, "Rows 1 to %d were removed as set by GATEWAY_AUDIT_YEARS; their end is anchored\n", found.Removed); err != nil {
			return err
		}
	}
	stored := found.Count - found.Removed
	_, err = fmt.Fprintf(std.out, "%d rows, all unchanged; hash of the last row: %s\n%d rows have a MAC of GATEWAY_SECRETS_KEYS, %d from earlier versions do not\n",
		stored, found.Head, found.Keyed, stored-found.Keyed)
	return err
}

// operator returns a context whose changes are recorded as those of the system
// user who runs the command.
func operator(ctx context.Context) context.Context {
	id := strconv.Itoa(syscall.Getuid())
	name := "user " + id
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return activity.WithActor(ctx, activity.Actor{Kind: activity.ActorCLI, ID: id, Name: name})
}
