package observe_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/web/conn"
)

// stream is an open event stream of a page.
type stream struct {
	status int
	lines  <-chan string
	lastID string
}

// part is the data of an event.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
	Keep int    `json:"keep"`
}

// follow opens the stream of topics, from an event.
func (a *watched) follow(t *testing.T, address, from string, topics ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	query := url.Values{"project": {"p"}, "topics": topics, "from": {from}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/admin/live?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", a.cookie)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 100)
	go func() {
		defer close(read)
		defer func() { _ = answer.Body.Close() }()
		scanner := bufio.NewScanner(answer.Body)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			read <- scanner.Text()
		}
	}()
	t.Cleanup(cancel)
	return &stream{status: answer.StatusCode, lines: read}
}

// next returns the next part with the id.
func (s *stream) next(t *testing.T, id string) part {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("stream ended before %q", id)
			}
			if event, found := strings.CutPrefix(line, "id: "); found {
				s.lastID = event
			}
			if data, found := strings.CutPrefix(line, "data: "); found {
				var p part
				if err := json.Unmarshal([]byte(data), &p); err != nil {
					t.Fatal(err)
				}
				if p.ID == id {
					return p
				}
			}
		case <-late:
			t.Fatalf("no part %q", id)
		}
	}
}

// serve starts a listener and returns its address.
func (a *watched) serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Listener(conn.Listener(listener)) }()
	t.Cleanup(func() {
		if err := a.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// newest returns the id of the newest stored call.
func (a *watched) newest(t *testing.T) string {
	t.Helper()
	var call models.Call
	if err := a.Services.DB.Order("id DESC").First(&call).Error; err != nil {
		t.Fatal(err)
	}
	return call.ID
}

func TestLiveCalls(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	a.call(t, 1, "up__before", "anonymous", models.CallOK)
	a.stored(t, 1)
	address, begin := a.serve(t), a.newest(t)
	all := a.follow(t, address, "", "calls:"+begin+":period=24h")
	failed := a.follow(t, address, "", "calls:"+begin+":period=24h&query="+url.QueryEscape("outcome:failed"))
	if all.status != 200 || failed.status != 200 {
		t.Fatal(all.status, failed.status)
	}
	a.call(t, 0, "up__<first>", "key:"+a.key.ID, models.CallOK)
	rows := all.next(t, "calls")
	if !strings.Contains(rows.HTML, "up__&lt;first&gt;") || !strings.Contains(rows.HTML, "CI runner") || strings.Contains(rows.HTML, "up__before") || !strings.HasPrefix(rows.HTML, `<tr id="call-`) || rows.Keep == 0 {
		t.Errorf("rows %+v", rows)
	}
	missed := all.lastID
	a.call(t, 0, "up__second", "anonymous", models.CallFailed)
	for name, s := range map[string]*stream{"all": all, "failed": failed} {
		if rows := s.next(t, "calls"); !strings.Contains(rows.HTML, "up__second") || strings.Contains(rows.HTML, "first") {
			t.Errorf("%s: rows %+v", name, rows)
		}
	}
	again := a.follow(t, address, missed, "calls:"+begin+":period=24h")
	if rows := again.next(t, "calls"); !strings.Contains(rows.HTML, "up__second") || strings.Contains(rows.HTML, "first") {
		t.Errorf("rows after %s: %+v", missed, rows)
	}
}

// TestLiveCallsSincePage sends calls that came after the page was rendered and
// before its stream was open, and of many the newest.
func TestLiveCallsSincePage(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	for i := range 50 {
		a.call(t, 0, "up__echo", "anonymous", models.CallOK)
		a.stored(t, i+1)
	}
	var calls []models.Call
	if err := a.Services.DB.Order("id").Find(&calls).Error; err != nil {
		t.Fatal(err)
	}
	address := a.serve(t)
	for after, want := range map[int]int{9: 40, 10: 39, 8: 40, 48: 1} {
		rows := a.follow(t, address, "", "calls:"+calls[after].ID+":period=1h").next(t, "calls")
		if got := strings.Count(rows.HTML, "<tr"); got != want || !strings.Contains(rows.HTML, calls[49].ID) {
			t.Errorf("after call %d: %d rows, want %d", after, got, want)
		}
	}
}

func TestLiveNumbers(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	a.call(t, 1, "up__echo", "anonymous", models.CallOK)
	a.stored(t, 1)
	address := a.serve(t)
	s := a.follow(t, address, "", "activity:period=1h&query=echo")
	if stats := s.next(t, "activity-stats"); !strings.Contains(stats.HTML, `<span class="value">1 `) {
		t.Errorf("numbers %s", stats.HTML)
	}
	if chart := s.next(t, "activity-calls"); !strings.HasPrefix(chart.HTML, `<section class="card" id="activity-calls"`) || !strings.Contains(chart.HTML, "chart-view") {
		t.Errorf("chart %s", chart.HTML)
	}
	a.call(t, 0, "up__other", "anonymous", models.CallOK) // does not match
	a.call(t, 0, "up__echo", "anonymous", models.CallFailed)
	if stats := s.next(t, "activity-stats"); !strings.Contains(stats.HTML, `<span class="value">2 `) || !strings.Contains(stats.HTML, "50.0") {
		t.Errorf("numbers %s", stats.HTML)
	}
}

func TestFirstCallReplacesEmptyPage(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	address := a.serve(t)
	body := a.get(t, activityPath).Body
	_, topic, _ := strings.Cut(body, "topics=calls")
	topic = topic[:strings.IndexAny(topic, `&"`)]
	arg, err := url.QueryUnescape(topic)
	if err != nil || !strings.HasPrefix(arg, ":0:") {
		t.Fatalf("topic %q, %v", arg, err)
	}
	s := a.follow(t, address, "", "calls"+arg)
	a.call(t, 0, "up__first", "anonymous", models.CallOK)
	if whole := s.next(t, "activity"); !strings.HasPrefix(whole.HTML, `<div class="stack loose" id="activity">`) || !strings.Contains(listOf(whole.HTML), "up__first") || !strings.Contains(whole.HTML, "data-pause") {
		t.Errorf("page %s", whole.HTML)
	}
	a.call(t, 0, "up__next", "anonymous", models.CallOK)
	if rows := s.next(t, "calls"); strings.Contains(rows.HTML, "up__first") || !strings.Contains(rows.HTML, "up__next") {
		t.Errorf("rows %s", rows.HTML)
	}
}

func TestInvalidLiveTopics(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	address := a.serve(t)
	for _, topic := range []string{"calls:0:query=outcome:fine", "activity:query=%22", "calls:0:%zz", "activity:%zz"} {
		if s := a.follow(t, address, "", topic); s.status != 400 {
			t.Errorf("%s: status = %d, want 400", topic, s.status)
		}
	}
	s := a.follow(t, address, "", "calls:0:period=1h")
	if err := a.Services.Projects.DeleteProject(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	routestest.Eventually(t, "the stream ends with the project", func() bool {
		select {
		case _, open := <-s.lines:
			return !open
		default:
			return false
		}
	})
}
