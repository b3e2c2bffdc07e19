package main

import (
	"context"
	"os"
	"path/filepath"

	"mcpgateway/services/projects"
)

func export(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "export")
	file := fs.String("o", "", "output file (default standard output)")
	slug := fs.String("project", "", "export only this project")
	people := fs.Bool("people", false, "include the email addresses of users")
	if err := parse(fs, args); err != nil {
		return err
	}
	s, err := openExisting(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	raw, err := s.Projects.ExportWith(ctx, projects.ExportOptions{Project: *slug, People: *people})
	if err != nil {
		return err
	}
	if *file == "" {
		_, err := std.out.Write(raw)
		return err
	}
	return writeFileAtomic(*file, raw)
}

// writeFileAtomic replaces the file at path atomically.
func writeFileAtomic(path string, raw []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(raw); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
