package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/cmd/gateway/host"
	"mcpgateway/cmd/gateway/logbuffer"
	"mcpgateway/routes"
	"mcpgateway/services"
	"mcpgateway/services/backups"
	"mcpgateway/web/conn"
)

// shutdownTimeout is the time for calls in flight to finish.
const shutdownTimeout = 20 * time.Second

func serve(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "serve")
	addr := fs.String("addr", "", "listen address HOST:PORT")
	file := fs.String("config", "", "declarative file to apply before serving")
	withDemo := fs.Bool("demo", false, "add a demo project with two servers in this process")
	dev := fs.Bool("dev", false, "serve /kit, the page with all user interface components")
	watch := fs.Bool("watch", false, "take changed commands of the file at once, without a reload")
	state := fs.String("state", "", "directory of the runner of local servers; default: runner next to the SQLite file, or ~/.local/state/gateway-runner")
	var local localFiles
	if err := parseLocal(fs, &local, args); err != nil {
		return err
	}
	c, err := configure(std, *addr)
	if err != nil {
		return err
	}
	if c.Backup.Dir != "" {
		if err := backups.Usable(c.Backup.Dir); err != nil {
			return errConfig{fmt.Errorf("GATEWAY_BACKUP_DIR: %w. Create the folder, and let the gateway's user write to it", err)}
		}
	}
	served, err := readServed(*file, local, std.in)
	if err != nil {
		return err
	}
	if served != nil {
		served.takeCommands, served.state = *watch, *state
	}
	if *withDemo && !c.LoopbackListener {
		return errConfig{errors.New("--demo requires a loopback listener such as 127.0.0.1:8080, because its project has no access control")}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if _, port, _ := net.SplitHostPort(c.Addr); port == "0" {
		// URLs for clients must contain the real port.
		if c, err = configure(std, listener.Addr().String()); err != nil {
			return err
		}
	}
	lines := logbuffer.New(std.err)
	defer lines.Flush()
	log := slog.New(lines.Handler(newLog(lines, isTerminal(std.err), c).Handler()))
	for _, name := range c.Unknown {
		log.Warn("unknown setting", "variable", name)
	}
	s, err := services.New(ctx, c, version, log)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Dev = *dev
	if served != nil {
		if err := served.apply(ctx, s, log); err != nil {
			return err
		}
	}
	if err := s.Projects.CheckExposed(ctx); err != nil {
		return err
	}
	example := demo.New(s, log)
	defer example.Stop()
	s.Demo = example
	start := example.Resume
	if *withDemo {
		start = example.Start
	}
	if err := start(ctx); err != nil {
		*withDemo = false
		log.Warn("demo servers not running", "error", err)
	}
	stopMetrics, err := serveMetrics(ctx, s, log)
	if err != nil {
		return err
	}
	defer stopMetrics()
	programs := newOwnRunner(ctx, s, std, served, lines, log)
	defer programs.stop()
	if served != nil && served.set.HasPrograms() {
		if err := programs.start(); err != nil {
			return err
		}
	}
	return listenAndServe(ctx, s, listener, c.DrainDelay, log, programs.stop, func() {
		programs.attach()
		s.Background.Go("garbage collector tuning", s.Background.Loop(ctx, "garbage collector tuning", func(ctx context.Context) {
			host.TuneGC(ctx, s.Results.Held, c.ResultMemory)
		}))
		if err := announceSetup(ctx, s, log); err != nil {
			log.Warn("setup link unavailable", "error", err)
		}
		log.Info("serving", "address", listener.Addr().String(), "url", c.PublicURL.String(), "version", version)
		lines.Flush() // scripts wait for this line; later output must follow it
		if served != nil {
			served.serve(ctx, s, std, programs, log)
		}
		if *withDemo {
			example.Read(ctx)
			example.Print(std.out)
		}
	})
}

// listenAndServe serves until ctx ends. It then reports not ready, serves for
// the drain delay, so that load balancers can react, and waits for calls in
// flight; then it calls drained. A second signal ends the process at once.
func listenAndServe(ctx context.Context, s *services.Services, listener net.Listener, drainDelay time.Duration, log *slog.Logger, drained, ready func()) error {
	app := routes.New(s, log)
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	loaded := make(chan struct{})
	ended := make(chan error, 2)
	s.Background.Go("services", func() {
		ended <- s.Background.Try("services", func() error { return s.Run(background, func() { close(loaded) }) })
	})
	running := 1
	serving := false
	var err error
	for running > 0 && err == nil {
		select {
		case <-loaded:
			loaded, serving = nil, true
			running++
			limits := host.ConnLimits(s.Config, host.Descriptors(), log)
			limits.Background = s.Background
			s.Background.Go("listener", func() {
				ended <- s.Background.Try("listener", func() error { return app.Listener(conn.NewListener(listener, limits)) })
			})
			ready()
			continue
		case err = <-ended:
			running--
			if err == nil && ctx.Err() == nil {
				err = errors.New("server exited unexpectedly")
			}
			continue
		case <-ctx.Done():
		}
		break
	}
	if serving {
		s.Drain()
		if err == nil && drainDelay > 0 {
			log.Info("draining", "delay", drainDelay.String())
			select {
			case <-time.After(drainDelay):
			case err = <-ended:
				running--
			}
		}
		log.Info("shutting down", "timeout", shutdownTimeout.String())
		if failed := shutdown(app); failed != nil {
			log.Warn("calls in flight did not finish in time", "error", failed)
		}
		_ = listener.Close() // Shutdown doesn't close a listener before serving starts
	}
	drained()
	stopBackground()
	for ; running > 0; running-- {
		if e := <-ended; e != nil && err == nil && !errors.Is(e, net.ErrClosed) {
			err = e
		}
	}
	return err
}

func shutdown(app *fiber.App) error {
	if err := app.ShutdownWithTimeout(shutdownTimeout); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
