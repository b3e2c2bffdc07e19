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
	*Batch              // nil if Same
	HighWater time.Time // zero for a source without timestamps
	ETag      string    // for the next File of a document; empty if its server sent none
	Same      bool      // the document has not changed since the given ETag
}

// readerVersion is part of every ETag. Increment it when ParseFile reads more of
// a document, so that unchanged documents are read again.
const readerVersion = "1 "

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
			return Content{Batch: &b.Batch, HighWater: b.highWater}, nil
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
	got, err := r.get(ctx, address, "", maxPageBytes)
	if err != nil {
		return nil, err
	}
	page := &officialPage{raw: got.body}
	if err := json.Unmarshal(got.body, page, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, invalidAnswer("its response is not the expected JSON: %s", Clean(typeError(err).Error(), MaxTitle))
	}
	return page, nil
}

// File fetches a document in the catalog's own format, unless it is unchanged
// since the given ETag, which may be empty. It returns UPSTREAM_ faults and those
// of ParseFile.
func (r *Reader) File(ctx context.Context, address, etag string) (Content, error) {
	known, _ := strings.CutPrefix(etag, readerVersion)
	if known == etag {
		known = ""
	}
	got, err := r.get(ctx, address, known, MaxFileBytes)
	if err != nil || got.same {
		return Content{Same: got.same, ETag: etag}, err
	}
	b, err := ParseFile(got.body)
	if err != nil {
		return Content{}, err
	}
	b.Whole = true
	content := Content{Batch: b}
	if got.etag != "" {
		content.ETag = readerVersion + got.etag
	}
	return content, nil
}

// reply is a response with status 200, or 304 to a request with an ETag.
type reply struct {
	body []byte
	etag string
	same bool
}

// get returns the response of a source. etag may be empty.
func (r *Reader) get(ctx context.Context, address, etag string, most int64) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return reply{}, fault.Invalid("The source's URL is invalid.").Because(err)
	}
	request.Header.Set("Accept", "application/json")
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return reply{}, unreachable(err)
	}
	defer response.Body.Close()
	switch {
	case etag != "" && response.StatusCode == http.StatusNotModified:
		return reply{same: true}, nil
	case response.StatusCode != http.StatusOK:
		return reply{}, fault.Upstream(fault.CodeUpstreamUnavailable, "The source responded with status %d.", response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return reply{}, unreachable(err)
	}
	if int64(len(raw)) > most {
		return reply{}, invalidAnswer("its response is larger than %d MiB", most>>20)
	}
	got := reply{body: raw, etag: response.Header.Get("ETag")}
	if len(got.etag) > maxETag {
		got.etag = ""
	}
	return got, nil
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
