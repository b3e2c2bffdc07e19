package main

import (
	"context"
	"fmt"
)

// rekey seals every stored secret with the active key, so that older keys can
// be removed from GATEWAY_SECRETS_KEYS.
func rekey(ctx context.Context, std streams, args []string) error {
	if err := parse(flags(std, "rekey"), args); err != nil {
		return err
	}
	s, err := openExisting(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.Rekey(operator(ctx))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%d secrets resealed with key %s\n", n, s.Config.Keys.ActiveKID())
	return err
}
