package main

import (
	"context"
	"fmt"
	"os/user"
	"strconv"
	"syscall"

	"mcpgateway/services/activity"
)

// audit verifies the audit log: `gateway audit verify` prints how many rows it
// has, the hash of the last and the number of rows with a code, or fails and names the first row that is wrong.
func audit(ctx context.Context, std streams, args []string) error {
	if len(args) == 0 || args[0] != "verify" {
		return usagef("say what to do: verify")
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
		_, err = fmt.Fprintln(std.out, "the audit log is empty")
		return err
	}
	_, err = fmt.Fprintf(std.out, "%d rows, all as they were written; the last is %s\n%d rows carry a code of GATEWAY_SECRETS_KEYS, %d from earlier versions do not\n",
		found.Count, found.Head, found.Keyed, found.Count-found.Keyed)
	return err
}

// operator returns a context whose changes are recorded as those of the
// person at the command line, by the name that the system knows.
func operator(ctx context.Context) context.Context {
	id := strconv.Itoa(syscall.Getuid())
	name := "user " + id
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return activity.WithActor(ctx, activity.Actor{Kind: activity.ActorCLI, ID: id, Name: name})
}
