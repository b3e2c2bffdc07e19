package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// server is a Caller that plays an upstream server.
type server struct {
	mu    sync.Mutex
	calls []string
	play  func(ctx context.Context, request *upstream.Request) (*upstream.Response, error)
}

func (s *server) Call(ctx context.Context, _ *upstream.Target, request *upstream.Request) (*upstream.Response, error) {
	s.mu.Lock()
	s.calls = append(s.calls, request.Method+string(request.RawParams()))
	s.mu.Unlock()
	return s.play(ctx, request)
}

func (s *server) has(call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.calls, "\n"), call)
}

func ring(t *testing.T) *secrets.KeyRing {
	t.Helper()
	r, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	ann    = tasks.Owner{Project: "p", Principal: "ann"}
	target = &upstream.Target{ServerID: "s", Alias: "up", TaskTimeout: time.Minute}
)

func result(raw string) *upstream.Response { return &upstream.Response{Result: []byte(raw)} }

const created = `{"task":{"taskId":"1","status":"working","ttl":null,"pollInterval":1000}}`

// blocks is a server whose task never ends.
func blocks(ctx context.Context, request *upstream.Request) (*upstream.Response, error) {
	switch request.Method {
	case "tools/call":
		return result(created), nil
	case "tasks/result":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return result(`{"taskId":"1","status":"working","ttl":null}`), nil
}

func callNeeded(ctx context.Context, t *tasks.Tasks) (*upstream.Response, error) {
	return t.Call(ctx, target, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"x"}`)}, tasks.Plan{Required: true})
}

func TestTaskTimeout(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{time.Minute - time.Second, time.Minute, time.Minute + time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{play: func(ctx context.Context, request *upstream.Request) (*upstream.Response, error) {
				if request.Method != "tasks/result" {
					return blocks(ctx, request)
				}
				select {
				case <-time.After(d):
					return result(`{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}`), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
			w := tasks.New(tasks.Options{Caller: s, Handles: ring(t), Now: time.Now})
			got, err := callNeeded(t.Context(), w)
			synctest.Wait()
			switch late := d >= time.Minute; {
			case late && d > time.Minute && (!fault.Is(err, fault.CodeUpstreamTimeout) || !s.has(`tasks/cancel{"taskId":"1"}`)):
				t.Errorf("after %s: %v, %q", d, err, s.calls)
			case !late && (err != nil || string(got.Result) != `{"content":[]}` || s.has("tasks/cancel")):
				t.Errorf("after %s: %s, %v", d, got.Result, err)
			}
			if !s.has(`"task":{"ttl":60000}`) {
				t.Errorf("sent %q", s.calls)
			}
		})
	}
}

func TestCancelledWaitCancelsTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{play: blocks}
		w := tasks.New(tasks.Options{Caller: s, Handles: ring(t), Now: time.Now})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := callNeeded(ctx, w); err == nil {
			t.Error("a cancelled call has a result")
		}
		synctest.Wait()
		if !s.has(`tasks/cancel{"taskId":"1"}`) {
			t.Errorf("sent %q", s.calls)
		}
	})
}

// TestMaxWaits starts one wait fewer than the maximum, the maximum, and one more.
func TestMaxWaits(t *testing.T) {
	t.Parallel()
	for _, n := range []int{tasks.MaxWaits - 1, tasks.MaxWaits, tasks.MaxWaits + 1} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{play: blocks}
			w := tasks.New(tasks.Options{Caller: s, Handles: ring(t), Now: time.Now})
			ctx, cancel := context.WithCancel(t.Context())
			var mu sync.Mutex
			refused := 0
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					_, err := callNeeded(ctx, w)
					mu.Lock()
					defer mu.Unlock()
					if fault.Is(err, fault.CodeRateLimited) {
						refused++
					}
				})
			}
			synctest.Wait()
			mu.Lock()
			if want := max(n-tasks.MaxWaits, 0); refused != want {
				t.Errorf("%d waits: %d were refused, want %d", n, refused, want)
			}
			mu.Unlock()
			cancel()
			all.Wait()
			if leave, err := w.Wait("s"); err != nil {
				t.Errorf("a wait was not released: %v", err)
			} else {
				leave()
			}
			synctest.Wait()
		})
	}
}

// TestPollsExtension waits for a task of a stateless server that requires input.
func TestPollsExtension(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		var at []time.Duration
		begin := time.Now()
		s := &server{}
		s.play = func(_ context.Context, request *upstream.Request) (*upstream.Response, error) {
			stateless := func(raw string) (*upstream.Response, error) {
				return &upstream.Response{Result: []byte(raw), Stateless: true}, nil
			}
			switch request.Method {
			case "tools/call":
				if !tasks.Declares(request.Client.Capabilities) {
					return &upstream.Response{Error: []byte(`{"code":-32021,"message":"m","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`), Stateless: true}, nil
				}
				return stateless(`{"resultType":"task","taskId":"1","status":"working","ttlMs":null,"pollIntervalMs":1}`)
			case "tasks/get":
				polls++
				at = append(at, time.Since(begin))
				switch polls {
				case 1:
					return stateless(`{"taskId":"1","status":"working","ttlMs":null,"statusMessage":"a","pollIntervalMs":1}`)
				case 2:
					return stateless(`{"taskId":"1","status":"input_required","ttlMs":null,"pollIntervalMs":3600000,"inputRequests":{"q":{"method":"elicitation/create","params":{}},"r":{"method":"elicitation/create","params":{"x":1}}}}`)
				}
				return stateless(`{"taskId":"1","status":"completed","ttlMs":null,"result":{"content":[]}}`)
			}
			return stateless(`{}`)
		}
		w := tasks.New(tasks.Options{Caller: s, Handles: ring(t), Now: time.Now})
		var progress []string
		request := &upstream.Request{
			Method: "tools/call", Params: []byte(`{"name":"x","_meta":{"progressToken":7}}`),
			Notify: func(method string, params []byte) { progress = append(progress, method+string(params)) },
			Serve: func(_ context.Context, _ string, params []byte) (result, rpcError []byte) {
				if string(params) == "{}" {
					return []byte(`{"action":"accept"}`), nil
				}
				return nil, []byte(`{"code":-1,"message":"no"}`)
			},
		}
		got, err := w.Call(t.Context(), target, request, tasks.Plan{Repeat: true})
		if err != nil || string(got.Result) != `{"content":[],"resultType":"complete"}` || !got.Stateless {
			t.Fatalf("got %+v, %v", got, err)
		}
		if !s.has(`tasks/update{"inputResponses":{"q":{"action":"accept"},"r":{"action":"cancel"}},"taskId":"1"}`) {
			t.Errorf("sent %q", s.calls)
		}
		if want := `[notifications/progress{"progressToken":7,"progress":1,"message":"a"}]`; fmt.Sprint(progress) != want {
			t.Errorf("progress %q, want %s", progress, want)
		}
		if want := "[0s 250ms 10.25s]"; fmt.Sprint(at) != want { // the interval is from 0.25 to 10 s
			t.Errorf("polled at %v, want %s", at, want)
		}
	})
}

// TestMaxOpenTasks opens tasks up to the limits of a principal and of a project.
func TestMaxOpenTasks(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		addProject(t, db, now)
		store := tasks.NewStore(db, func() time.Time { return now })
		fill := func(principal string, n int) {
			for i := range n {
				row := models.UpstreamTask{
					ID: fmt.Sprintf("%s-%d", principal, i), ProjectID: "p", Principal: principal, ServerID: "s", Tool: "up__x", State: "{}", Open: true,
					CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(time.Hour),
				}
				if err := store.Create(t.Context(), row); err != nil {
					t.Fatal(err)
				}
			}
		}
		reserve := func(principal string) error {
			w := tasks.New(tasks.Options{Caller: &server{}, Handles: ring(t), Rows: store, Now: func() time.Time { return now }})
			place, err := w.Reserve(t.Context(), tasks.Owner{Project: "p", Principal: principal})
			place.Release()
			return err
		}
		fill("ann", tasks.MaxOpen-1)
		if err := reserve("ann"); err != nil {
			t.Errorf("task %d: %v", tasks.MaxOpen, err)
		}
		w := tasks.New(tasks.Options{Caller: &server{}, Handles: ring(t), Rows: store, Now: func() time.Time { return now }})
		first, err := w.Reserve(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Reserve(t.Context(), ann); !fault.Is(err, fault.CodeRateLimited) {
			t.Errorf("task %d: %v", tasks.MaxOpen+1, err)
		}
		first.Release()
		for i := range 9 {
			fill(fmt.Sprint("other", i), tasks.MaxOpen)
		}
		if err := reserve("ben"); err != nil { // 999 are open
			t.Errorf("task %d of the project: %v", tasks.MaxProjectOpen, err)
		}
		fill("ben", 1)
		if err := reserve("cy"); !fault.Is(err, fault.CodeRateLimited) {
			t.Errorf("task %d of the project: %v", tasks.MaxProjectOpen+1, err)
		}
		if wasOpen, err := store.Update(t.Context(), "ben-0", "", false); err != nil || !wasOpen {
			t.Errorf("closing: %v, %v", wasOpen, err)
		}
		if wasOpen, err := store.Update(t.Context(), "ben-0", "", false); err != nil || wasOpen {
			t.Errorf("closing again: %v, %v", wasOpen, err)
		}
		if err := reserve("cy"); err != nil {
			t.Errorf("after one ended: %v", err)
		}
		// Pages of the list have 100 tasks.
		fill("ann", tasks.MaxOpen+1)
		seen, cursor := 0, "{}"
		for range 3 {
			params, err := rawjson.ParseObject([]byte(cursor), rawjson.Strict)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := w.List(t.Context(), ann, params, func(*models.UpstreamTask) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			page, err := rawjson.ParseObject(raw, rawjson.Strict)
			if err != nil {
				t.Fatal(err)
			}
			items, err := rawjson.Elements(page.Get("tasks"), rawjson.Strict)
			if err != nil {
				t.Fatal(err)
			}
			seen += len(items)
			if page.Get("nextCursor") == nil {
				break
			}
			cursor = `{"cursor":` + string(page.Get("nextCursor")) + `}`
		}
		if seen != tasks.MaxOpen+1 {
			t.Errorf("%d tasks listed, want %d", seen, tasks.MaxOpen+1)
		}
		// Expired rows are not counted, not listed, and removed.
		now = now.Add(time.Hour)
		if open, err := store.Open(t.Context(), "p"); err != nil || len(open) != 0 {
			t.Errorf("expired tasks are open: %v, %v", open, err)
		}
		if err := store.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int64
		if err := db.Model(&models.UpstreamTask{}).Count(&left).Error; err != nil || left != 0 {
			t.Errorf("%d expired tasks stay, %v", left, err)
		}
	})
}

func addProject(t *testing.T, db *gorm.DB, now time.Time) {
	t.Helper()
	project := models.Project{ID: "p", Slug: "p", Name: "p", AuthMode: models.AuthAPIKey, ToolExposure: models.ExposeFull, CreatedAt: now, UpdatedAt: now}
	row := models.Server{ID: "s", ProjectID: "p", Alias: "up", URL: "https://up.example", Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, CreatedAt: now, UpdatedAt: now}
	for _, r := range []any{&project, &row} {
		if err := db.Create(r).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// TestHandleLifetime opens a handle until its lifetime has ended.
func TestHandleLifetime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := tasks.New(tasks.Options{Caller: &server{}, Handles: ring(t), Now: func() time.Time { return now }})
	response := result(created)
	held := &tasks.Held{Handle: &tasks.Handle{Owner: ann, Server: "s", Tool: "up__x"}, Target: target}
	raw, err := w.Adopt(t.Context(), held, tasks.Created(response), response.Result, nil)
	if err != nil || strings.Contains(string(raw), `"taskId":"1"`) || !strings.Contains(string(raw), held.Text) {
		t.Fatalf("got %s, %v", raw, err)
	}
	start := now
	for _, d := range []time.Duration{tasks.MaxLifetime - time.Second, tasks.MaxLifetime, tasks.MaxLifetime + time.Second} {
		now = start.Add(d)
		if _, err := w.Open(ann, tasks.Core, held.Text); (err == nil) != (d < tasks.MaxLifetime) {
			t.Errorf("after %s: %v", d, err)
		}
	}
}
