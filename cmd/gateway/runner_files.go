package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/trusted"
)

// localFiles are the files of --local, which can be repeated and also takes the
// arguments that follow it: --local FILE …
type localFiles []string

func (p *localFiles) String() string { return strings.Join(*p, " ") }

// Set adds a file.
func (p *localFiles) Set(path string) error {
	if path == "" {
		return errors.New("name a file")
	}
	*p = append(*p, path)
	return nil
}

// parseLocal parses the flags and the files of --local.
func parseLocal(fs *flag.FlagSet, local *localFiles, args []string) error {
	fs.Var(local, "local", fmt.Sprintf("file of any client with servers to run; 1 to %d", files.MaxLocal))
	for {
		rest, err := parseSome(fs, args)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			break
		}
		if len(*local) == 0 {
			return usagef("unexpected argument %q", rest[0])
		}
		*local = append(*local, rest[0])
		args = rest[1:]
	}
	if len(*local) > files.MaxLocal {
		return usagef("--local takes at most %d files", files.MaxLocal)
	}
	return nil
}

// readFiles returns the content of the files. A refused file is an error of the
// configuration, which ends commands with the exit code 2.
func readFiles(list []string, format files.Format) (*files.Set, error) {
	set, err := files.Read(list, format)
	var refusal *trusted.Refusal
	if errors.As(err, &refusal) {
		return nil, errConfig{refusal}
	}
	return set, err
}
