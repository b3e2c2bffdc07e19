package icons_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
)

// serve returns a host that sends the same content for every path.
func serve(t *testing.T, content []byte) host {
	t.Helper()
	return newHost(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
}

// row returns the stored row of an icon once its fetch has ended.
func (p *process) row(t *testing.T, url string) models.CatalogIcon {
	t.Helper()
	var row models.CatalogIcon
	eventually(t, url, func() bool {
		row = models.CatalogIcon{}
		err := p.db.Limit(1).Find(&row, "url = ?", url).Error
		return err == nil && (row.Hash != "" || row.Error != "")
	})
	return row
}

// hash returns the hash of an icon once the process has it.
func (p *process) hash(t *testing.T, url string) string {
	t.Helper()
	var hash string
	eventually(t, url, func() bool {
		hash = p.Hash(url)
		return hash != ""
	})
	return hash
}

// requests counts those of a host.
func counted(requests *atomic.Int64, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		next(w, r)
	}
}

func TestIconIsFetchedOnce(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		var requests atomic.Int64
		from := newHost(t, counted(&requests, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization")+r.Header.Get("Cookie")+r.Header.Get("Referer") != "" {
				t.Errorf("the request has the header %v", r.Header)
			}
			w.Header().Set("Content-Type", "text/html") // is ignored
			_, _ = w.Write(encodePNG(t, 100, 100))
		}))
		url := from.URL + "/icon.png"
		a, b := join(t, dsn, from), join(t, dsn, from)
		if first := a.Hash(url) + b.Hash(url); first != "" {
			t.Errorf("Hash = %q at first", first)
		}
		hash := a.hash(t, url)
		if got := b.hash(t, url); got != hash {
			t.Errorf("the other process has %q, want %q", got, hash)
		}
		icon, err := b.Image(t.Context(), hash)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(icon); hex.EncodeToString(sum[:]) != hash {
			t.Errorf("the icon has another hash")
		}
		decode(t, icon)
		restarted := join(t, dsn, from)
		if got := restarted.Hash(url); got != hash {
			t.Errorf("a new process has %q, want %q", got, hash)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestUnknownImages(t *testing.T) {
	p := onSQLite(t, serve(t, nil))
	for _, hash := range []string{"", "x", strings.Repeat("0", 64), strings.Repeat("A", 64), strings.Repeat("0", 63) + "/"} {
		if _, err := p.Image(t.Context(), hash); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("Image(%q) = %v", hash, err)
		}
	}
}

func TestOnlyHTTPS(t *testing.T) {
	p := onSQLite(t, serve(t, encodePNG(t, 9, 9)))
	for _, url := range []string{"", "http://127.0.0.1:1/icon.png", "data:image/png;base64,AAAA", "//127.0.0.1/icon.png", "/icon.png"} {
		if hash := p.Hash(url); hash != "" {
			t.Errorf("Hash(%q) = %q", url, hash)
		}
	}
	var rows int64
	if err := p.db.Model(&models.CatalogIcon{}).Count(&rows).Error; err != nil || rows != 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestRefusals(t *testing.T) {
	valid := encodePNG(t, 100, 100)
	of := func(size int) []byte { return append(valid[:len(valid):len(valid)], make([]byte, size-len(valid))...) }
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // "" takes the icon
	}{
		{"256 KiB less a byte", send(of(256<<10 - 1)), ""},
		{"256 KiB", send(of(256 << 10)), ""},
		{"256 KiB and a byte", send(of(256<<10 + 1)), "it is larger than 256 KiB"},
		{"256 KiB and a byte without a length", chunked(of(256<<10 + 1)), "it is larger than 256 KiB"},
		{"10 GB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10000000000")
			_, _ = w.Write(valid)
		}, "it is larger than 256 KiB"},
		{"10 GB without a length", func(w http.ResponseWriter, _ *http.Request) {
			part := bytes.Repeat(valid, 1000)
			for sent := 0; sent < 10_000_000_000; sent += len(part) {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}, "it is larger than 256 KiB"},
		{"bomb", send(webP(16384, 16384)), "it has more than 2048×2048 pixels"},
		{"svg", send([]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)), "it is not a PNG, JPEG, GIF, WebP or ICO image"},
		{"html", send([]byte("<!doctype html>")), "it is not a PNG, JPEG, GIF, WebP or ICO image"},
		{"nothing", send(nil), "it is not a PNG, JPEG, GIF, WebP or ICO image"},
		{"404", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(valid)
		}, "HTTP 404"},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(valid)
		}, "the response is compressed"},
		{"metadata address", redirect("https://169.254.169.254/latest/meta-data/"), "its address is not allowed"},
		{"private address", redirect("https://10.0.0.1/icon.png"), "its address is not allowed"},
		{"without TLS", redirect("http://127.0.0.1/icon.png"), "its redirect is not followed"},
		{"redirect in a circle", redirect("/icon.png"), "its redirect is not followed"},
		{"closed connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "its host cannot be reached"},
		{"slow header", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no complete response within 2s"},
		{"slow body", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(valid[:50])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "no complete response within 2s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := newHost(t, tt.answer)
			from.Config.ErrorLog = quiet()
			p := onSQLite(t, from)
			url := from.URL + "/icon.png"
			p.Hash(url)
			row := p.row(t, url)
			if row.Error != tt.want || (row.Hash != "") != (tt.want == "") {
				t.Errorf("the row is %q, %q, want %q", row.Hash, row.Error, tt.want)
			}
			if tt.want == "" {
				return
			}
			if hash := p.Hash(url); hash != "" {
				t.Errorf("Hash = %q", hash)
			}
			eventually(t, "the log", func() bool {
				return strings.Contains(p.log.String(), "catalog icon refused") && strings.Contains(p.log.String(), strings.TrimPrefix(from.URL, "https://"))
			})
			if log := p.log.String(); strings.Contains(log, "icon.png") || !strings.Contains(log, tt.want) {
				t.Errorf("the log is %s", log)
			}
		})
	}
}

func TestRefusalIsTriedAgain(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		var requests atomic.Int64
		var content atomic.Value
		content.Store([]byte("<html>"))
		from := newHost(t, counted(&requests, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content.Load().([]byte)) }))
		p := join(t, dsn, from)
		url := from.URL + "/icon.png"
		tried := func(want int64) {
			t.Helper()
			p.Hash(url)
			eventually(t, "the request", func() bool { return requests.Load() == want && p.Idle() })
		}
		tried(1)
		p.clock.advance(24*time.Hour - time.Millisecond)
		tried(1)
		p.clock.advance(time.Millisecond)
		tried(2)
		p.clock.advance(24*time.Hour + time.Millisecond)
		content.Store(encodePNG(t, 9, 9))
		tried(3)
		if p.hash(t, url); strings.Count(p.log.String(), "catalog icon refused") != 1 {
			t.Errorf("the log has not one refusal: %s", p.log)
		}
		p.clock.advance(240 * time.Hour)
		tried(3)
	})
}

func TestFourFetchesAtOnce(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	release := make(chan struct{})
	from := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		mu.Lock()
		now--
		mu.Unlock()
		_, _ = w.Write(encodePNG(t, 9, 9))
	})
	p := onSQLite(t, from)
	for i := range 12 {
		p.Hash(fmt.Sprintf("%s/%d.png", from.URL, i))
	}
	eventually(t, "four requests", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return now == 4
	})
	close(release)
	for i := range 12 {
		p.hash(t, fmt.Sprintf("%s/%d.png", from.URL, i))
	}
	if most != 4 {
		t.Errorf("%d fetches at once, want 4", most)
	}
}

func TestIconsOff(t *testing.T) {
	off := turnedOff()
	if err := off.Load(t.Context()); err != nil {
		t.Error(err)
	}
	off.Run(t.Context())
	if hash := off.Hash("https://example.com/icon.png"); hash != "" {
		t.Errorf("Hash = %q", hash)
	}
	if _, err := off.Image(t.Context(), strings.Repeat("0", 64)); !fault.Is(err, fault.CodeNotFound) {
		t.Errorf("Image = %v", err)
	}
	if err := off.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSweep(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		from := serve(t, encodePNG(t, 9, 9))
		p := join(t, dsn, from)
		used, left := from.URL+"/used.png", from.URL+"/left.png"
		if err := p.db.Create(&models.CatalogEntry{ID: "e", SourceID: "file", PublisherName: "a", ServerName: "b", ServerType: "http", AuthType: "none", IconURL: used, Status: models.CatalogActive}).Error; err != nil {
			t.Fatal(err)
		}
		p.hash(t, used)
		p.hash(t, left)
		rows := func() (urls []string) {
			t.Helper()
			if err := p.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := p.db.Model(&models.CatalogIcon{}).Order("url").Pluck("url", &urls).Error; err != nil {
				t.Fatal(err)
			}
			return urls
		}
		p.clock.advance(24*time.Hour - time.Millisecond)
		if got := rows(); len(got) != 2 {
			t.Errorf("after a day less 1 ms: %v", got)
		}
		p.clock.advance(time.Millisecond)
		if got := rows(); len(got) != 1 || got[0] != used {
			t.Errorf("after a day: %v", got)
		}
	})
}
