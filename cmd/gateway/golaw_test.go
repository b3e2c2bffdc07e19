package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayStartGoroutines reports whether a file may start goroutines without
// services/background. Exceptions:
//   - services/background itself, which recovers;
//   - test kits and other commands: they aren't the gateway, and a panic should
//     end them (the cluster of test databases is a test kit's command);
//   - the child process of services/sandbox: the gateway survives its end;
//   - the log buffer: a panic below the log can't be logged.
func mayStartGoroutines(room, name string) bool {
	command := in("cmd")(room) && !in("cmd/gateway")(room)
	child := room == "services/sandbox" && (name == "worker.go" || name == "engine.go")
	return room == "services/background" || room == "cmd/gateway/logbuffer" || isTestKit(room) || command || child
}

// goBreaches returns a line for each goroutine of a file whose panic would end
// the process: go statements, functions passed to the Go methods of wait groups
// and error groups or to DoChan of singleflight, and timer callbacks.
func goBreaches(room, name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil || mayStartGoroutines(room, name) {
		return nil, err
	}
	var breaches []string
	report := func(at ast.Node, what string) {
		breaches = append(breaches, files.Position(at.Pos()).String()+": "+what)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "go statement without recovery; use background.Tasks.Go")
		case *ast.CallExpr:
			switch method := selected(n.Fun); {
			case method == "Go" && len(n.Args) == 1 && !isRecovered(n.Args[0]):
				report(n, "Go of a group without recovery; pass background.Tasks.Func, ErrFunc or Loop")
			case method == "DoChan" && len(n.Args) == 2 && !callsTry(n.Args[1]):
				report(n, "DoChan without recovery; call background.Tasks.Try in its function")
			case method == "AfterFunc" && len(n.Args) == 2 && !isRecovered(n.Args[1]) && !onlyCancels(n.Args[1]):
				report(n, "callback of AfterFunc without recovery; pass background.Tasks.Func")
			}
		}
		return true
	})
	return breaches, nil
}

// selected returns the name of a method or a package's function, or "".
func selected(fun ast.Expr) string {
	if s, ok := fun.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

// isRecovered reports whether an expression is a function returned by
// background.Tasks.
func isRecovered(function ast.Expr) bool {
	call, ok := function.(*ast.CallExpr)
	return ok && slices.Contains([]string{"Func", "ErrFunc", "Loop"}, selected(call.Fun))
}

// callsTry reports whether a function literal calls background.Tasks.Try.
func callsTry(function ast.Expr) bool {
	found := false
	ast.Inspect(function, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && selected(call.Fun) == "Try"
		return true
	})
	return found
}

// onlyCancels reports whether a callback is a named function that ends a
// context or sets a connection's deadlines.
func onlyCancels(callback ast.Expr) bool {
	name := selected(callback)
	if i, ok := callback.(*ast.Ident); ok {
		name = i.Name
	}
	return slices.Contains([]string{"cancel", "stop", "interrupt"}, name)
}

func TestGoroutineLaw(t *testing.T) {
	checked := 0
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			found, err := goBreaches(p.room(), name, source)
			if err != nil {
				t.Fatal(err)
			}
			for _, breach := range found {
				t.Error(p.room() + "/" + breach)
			}
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("checked only %d files", checked)
	}
}

func TestGoroutineLawFindsBreaches(t *testing.T) {
	cases := []struct {
		name, room, file, body string
		breaches               int
	}{
		{"go statement", "services/access", "p.go", `go f()`, 1},
		{"go statement with a function", "web", "p.go", `go func() { defer func() { recover() }() }()`, 1},
		{"go statement in a function literal", "routes/mcp", "p.go", `g := func() { go f() }; g()`, 1},
		{"go statement of the command", "cmd/gateway", "serve.go", `go f()`, 1},
		{"services/background", "services/background", "background.go", `go f()`, 0},
		{"package named like it", "services/backgroundx", "p.go", `go f()`, 1},
		{"test kit", "services/upstream/upstreamtest", "p.go", `go f()`, 0},
		{"benchmark", "cmd/bench/load", "p.go", `go f()`, 0},
		{"child", "services/sandbox", "worker.go", `go f()`, 0},
		{"parent of the child", "services/sandbox", "pool.go", `go f()`, 1},
		{"log buffer", "cmd/gateway/logbuffer", "logbuffer.go", `time.AfterFunc(d, b.Flush)`, 0},
		{"background task", "services/access", "p.go", `tasks.Go("name", f)`, 0},
		{"wait group", "services/access", "p.go", `group.Go(f)`, 1},
		{"wait group with a literal", "services/access", "p.go", `group.Go(func() { f() })`, 1},
		{"wait group with a task", "services/access", "p.go", `group.Go(tasks.Func("name", f))`, 0},
		{"error group with a task", "services/access", "p.go", `group.Go(s.tasks.ErrFunc("name", f))`, 0},
		{"wait group with a loop", "services/access", "p.go", `group.Go(s.tasks.Loop(ctx, "name", f))`, 0},
		{"wait group with another call", "services/access", "p.go", `group.Go(wrap(f))`, 1},
		{"singleflight", "services/access", "p.go", `flights.DoChan("k", func() (any, error) { return f() })`, 1},
		{"recovered singleflight", "services/access", "p.go", `flights.DoChan("k", func() (any, error) { return nil, tasks.Try("name", f) })`, 0},
		{"timer", "services/access", "p.go", `time.AfterFunc(d, s.expire)`, 1},
		{"timer with a literal", "services/access", "p.go", `time.AfterFunc(d, func() { cancel() })`, 1},
		{"timer with a task", "services/access", "p.go", `time.AfterFunc(d, tasks.Func("name", s.expire))`, 0},
		{"timer that cancels", "services/access", "p.go", `time.AfterFunc(d, s.cancel)`, 0},
		{"context that cancels", "services/access", "p.go", `context.AfterFunc(ctx, cancel)`, 0},
		{"context that does more", "services/access", "p.go", `context.AfterFunc(ctx, s.remove)`, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found, err := goBreaches(c.room, c.file, []byte("package p\nfunc _() {\n"+c.body+"\n}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != c.breaches {
				t.Errorf("found %d breaches, want %d: %s", len(found), c.breaches, strings.Join(found, "; "))
			}
		})
	}
}
