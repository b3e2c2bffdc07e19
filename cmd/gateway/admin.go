package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// maxPasswordInput is the maximum number of bytes read for a password, which is
// more than a valid one has.
const maxPasswordInput = 4096

func admin(ctx context.Context, std streams, args []string) error {
	verbs := map[string]func(context.Context, streams, []string) error{"create": adminCreate, "setup-link": adminSetupLink, "reset-factors": adminResetFactors}
	if len(args) == 0 || verbs[args[0]] == nil {
		return subcommandError(args, "create, setup-link or reset-factors")
	}
	return verbs[args[0]](ctx, std, args[1:])
}

// adminCreate adds an administrator: with the password on standard input;
// otherwise invited, if single sign-on can verify the email address; otherwise
// with a generated password, which is printed once and alone on standard
// output.
func adminCreate(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "admin create")
	email := fs.String("email", "", "email address of the administrator")
	fromInput := fs.Bool("password-stdin", false, "read the password from standard input")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *email == "" {
		return usagef("--email is required")
	}
	var password secrets.Value
	if *fromInput {
		var err error
		if password, err = readPassword(std.in); err != nil {
			return err
		}
	}
	s, err := open(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	made := !*fromInput && !s.Config.SingleSignOn.Configured()
	if made {
		password = secrets.NewValue(rand.Text())
	}
	if _, err := s.People.Create(operator(ctx), access.NewUser{Email: *email, Role: models.RoleAdmin, Password: password}); err != nil {
		return err
	}
	if made {
		_, err = fmt.Fprintln(std.out, password.Reveal())
	}
	return err
}

// readPassword returns the first line of in without the line ending.
func readPassword(in io.Reader) (secrets.Value, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxPasswordInput)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return secrets.Value{}, err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return secrets.Value{}, usagef("--password-stdin: no password on standard input")
	}
	return secrets.NewValue(line), nil
}

// adminSetupLink prints the URL to create the first administrator in a browser.
func adminSetupLink(ctx context.Context, std streams, args []string) error {
	if err := parse(flags(std, "admin setup-link"), args); err != nil {
		return err
	}
	s, err := open(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	link, err := setupLink(ctx, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, link)
	return err
}

// adminResetFactors removes the second factors of a user, for the last
// administrator who lost them.
func adminResetFactors(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "admin reset-factors")
	email := fs.String("email", "", "email address of the user")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *email == "" {
		return usagef("--email is required")
	}
	s, err := openExisting(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	people, err := s.People.List(ctx)
	if err != nil {
		return err
	}
	for _, person := range people {
		if strings.EqualFold(person.Email, strings.TrimSpace(*email)) {
			return s.People.ResetFactors(operator(ctx), person.ID)
		}
	}
	return fault.NotFound("person", *email)
}

// setupLink returns the setup URL with a new token, or NOT_FOUND if there ever
// was an administrator.
func setupLink(ctx context.Context, s *services.Services) (string, error) {
	token, err := s.People.NewSetupToken(ctx)
	if err != nil {
		return "", err
	}
	return s.Config.PublicURL.String() + "/setup?token=" + url.QueryEscape(token.Reveal()), nil
}

// announceSetup logs the setup URL until there is an administrator.
func announceSetup(ctx context.Context, s *services.Services, log *slog.Logger) error {
	link, err := setupLink(ctx, s)
	if fault.Is(err, fault.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	log.Info("no administrator yet, open the url to create the first", "url", link, "valid_for", access.SetupLifetime.String())
	return nil
}
