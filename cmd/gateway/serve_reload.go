package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"mcpgateway/services"
	"mcpgateway/services/runner/files"
)

// serve applies the files again when they change, and at SIGHUP, until ctx ends.
func (f *servedFiles) serve(ctx context.Context, s *services.Services, std streams, programs *ownRunner, log *slog.Logger) {
	if f.format == files.Local {
		if err := introduceLocal(ctx, s, std, f.set.HasPrograms()); err != nil {
			log.Warn("key of the local project not created", "error", err)
		}
	}
	if f.paths[0] == "-" {
		return
	}
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	s.Background.Go("reload of the files", func() {
		defer signal.Stop(reloads)
		for {
			select {
			case <-reloads:
				f.reload(ctx, s, programs, log)
			case <-ctx.Done():
				return
			}
		}
	})
	read := f.set.Files
	s.Background.Go("watch of the files", func() {
		tick := time.NewTicker(files.WatchEvery)
		defer tick.Stop()
		files.Watch(ctx, f.paths, read, tick.C, func() { f.changed(ctx, s, programs, log) })
	})
}

// reload applies the files with their commands. A file with a mistake changes nothing.
func (f *servedFiles) reload(ctx context.Context, s *services.Services, programs *ownRunner, log *slog.Logger) {
	f.mu.Lock()
	defer f.mu.Unlock()
	read := f.read
	if f.format == files.Config && !programs.isRunning() {
		read = func() (*files.Set, error) { return readConfig(f.paths[0], nil) }
	}
	if set, err := read(); err != nil {
		log.Warn("changed file not applied", "error", explain(err))
	} else {
		f.take(ctx, s, set, programs, log)
	}
}

// changed applies changed files. New commands wait for a reload: at the runner, or if
// there is none, here. Without a runner, a declarative file is only applied at the
// start and by a reload, unless its commands are taken at once.
func (f *servedFiles) changed(ctx context.Context, s *services.Services, programs *ownRunner, log *slog.Logger) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.format == files.Config && !programs.isRunning() && !f.takeCommands {
		return
	}
	set, err := f.read()
	switch {
	case err != nil:
		log.Warn("changed file not applied", "error", explain(err))
		return
	case slices.Equal(set.Files, f.set.Files): // a reload has applied it
		return
	case set.HasPrograms() && !programs.isRunning() && !f.takeCommands:
		log.Warn("changed commands wait for a reload", "servers", strings.Join(set.DropPrograms(), ", "), "reload", "SIGHUP")
	}
	f.take(ctx, s, set, programs, log)
}

func (f *servedFiles) read() (*files.Set, error) { return readFiles(f.paths, f.format) }

// take applies what the files declare now, and starts the runner for their first
// commands. The caller must hold mu.
func (f *servedFiles) take(ctx context.Context, s *services.Services, set *files.Set, programs *ownRunner, log *slog.Logger) {
	next := servedFiles{paths: f.paths, format: f.format, set: set}
	err := next.apply(ctx, s, log)
	if err == nil {
		err = s.Projects.CheckExposed(ctx)
	}
	if err != nil {
		log.Warn("changed file not applied", "error", explain(err))
		return
	}
	f.set = set
	log.Info("changed file applied", "file", f.paths[0])
	if !set.HasPrograms() || programs.isRunning() {
		return
	}
	if f.takeCommands {
		log.Info("changed commands taken at once (--watch)", "file", f.paths[0])
	}
	if err := programs.start(); err != nil {
		log.Error("runner of local servers not started", "error", err)
	}
}
