package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpgateway/services/fault"
)

// OfficialPath is the path of a registry's list (official registry API).
const OfficialPath = "/v0.1/servers"

// Content is the content of a source and the time up to which it is complete.
type Content struct {
	*Batch
	HighWater time.Time // zero for a source without timestamps
}

// Reader fetches sources over HTTP.
type Reader struct{ client *http.Client }

// NewReader returns a reader with a client of services/egress.
func NewReader(client *http.Client) *Reader { return &Reader{client} }

// Official fetches the changes of a registry since a time, or everything if
// since is nil. It returns UPSTREAM_ faults for a registry that fails, repeats
// its cursors, never ends or doesn't use the official format.
func (r *Reader) Official(ctx context.Context, base string, since *time.Time) (Content, error) {
	b := &officialBatch{published: map[string]time.Time{}}
	seen := map[string]bool{}
	cursor, left := "", int64(maxAllBytes)
	for range maxPages {
		page, err := r.getPage(ctx, officialURL(base, cursor, since))
		if err != nil {
			return Content{}, err
		}
		officialPageMembers.unknown("", page.raw, func(path string) { b.ignored.add("the member "+path+" is unknown", "the registry's list") })
		if err := page.check(); err != nil {
			return Content{}, invalidAnswer("%v", err)
		}
		for _, row := range page.Servers {
			b.read(row)
		}
		left -= int64(len(page.raw))
		if b.Fetched > MaxRows || left < 0 {
			return Content{}, invalidAnswer("it lists more than %d servers or %d MiB", MaxRows, maxAllBytes>>20)
		}
		cursor = page.Metadata.NextCursor
		switch {
		case cursor == "":
			ignored := b.ignored.warnings()
			b.Warnings = append(b.Warnings, ignored[:min(len(ignored), maxWarnings-len(b.Warnings))]...)
			return Content{&b.Batch, b.highWater}, nil
		case seen[cursor]:
			return Content{}, invalidAnswer("it repeats the cursor of an earlier page, so its list has no end")
		}
		seen[cursor] = true
	}
	return Content{}, invalidAnswer("its list has more than %d pages", maxPages)
}

func officialURL(base, cursor string, since *time.Time) string {
	values := url.Values{"limit": {strconv.Itoa(pageRows)}, "version": {"latest"}}
	if cursor != "" {
		values.Set("cursor", cursor)
	}
	if since != nil {
		values.Set("updated_since", since.UTC().Add(-syncOverlap).Format(time.RFC3339))
	}
	return strings.TrimSuffix(base, "/") + OfficialPath + "?" + values.Encode()
}

// getPage fetches a page of a registry's list. Member names are case-sensitive;
// repeated names are rejected when the row is parsed.
func (r *Reader) getPage(ctx context.Context, address string) (*officialPage, error) {
	raw, err := r.get(ctx, address, maxPageBytes)
	if err != nil {
		return nil, err
	}
	page := &officialPage{raw: raw}
	if err := json.Unmarshal(raw, page, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, invalidAnswer("its response is not the expected JSON: %s", Clean(typeError(err).Error(), MaxTitle))
	}
	return page, nil
}

// File fetches a document in the catalog's own format. It returns UPSTREAM_
// faults and those of ParseFile.
func (r *Reader) File(ctx context.Context, address string) (Content, error) {
	raw, err := r.get(ctx, address, MaxFileBytes)
	if err != nil {
		return Content{}, err
	}
	b, err := ParseFile(raw)
	return Content{Batch: b}, err
}

// get returns the body of a response with status 200.
func (r *Reader) get(ctx context.Context, address string, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.Invalid("The source's URL is invalid.").Because(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "The source responded with status %d.", response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, unreachable(err)
	}
	if int64(len(raw)) > most {
		return nil, invalidAnswer("its response is larger than %d MiB", most>>20)
	}
	return raw, nil
}

func unreachable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Upstream(fault.CodeUpstreamTimeout, "The source did not respond in time. Try again later.").Because(err)
	}
	return fault.Upstream(fault.CodeUpstreamUnavailable, "The source is unreachable. Check its URL, or try again later.").Because(err)
}

func invalidAnswer(format string, args ...any) error {
	return fault.Upstream(fault.CodeUpstreamInvalidResponse, "The source is invalid: %s.", fmt.Sprintf(format, args...))
}
