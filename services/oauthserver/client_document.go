package oauthserver

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// checkDocumentID returns INVALID_PARAMETER for a client id that is not a valid
// metadata document URL (draft-ietf-oauth-client-id-metadata-document, section
// 3).
func checkDocumentID(id string) error {
	bad := func(why string) error { return fault.Invalid("client_id is not a valid client URL: %s.", why) }
	if len(id) > MaxDocumentClientID {
		return bad("it is too long")
	}
	u, err := url.Parse(id)
	switch {
	case err != nil || u.Scheme != "https" || u.Opaque != "":
		return bad("it must be an https URL")
	case u.User != nil || strings.Contains(u.Host, "@"):
		return bad("it must not have a user name")
	case strings.Contains(id, "#"):
		return bad("it must not have a fragment")
	case u.Path == "" || u.Path == "/":
		return bad("it must have a path")
	case slices.ContainsFunc(strings.Split(u.Path, "/"), func(segment string) bool { return segment == "." || segment == ".." }):
		return bad("its path must not have dot segments")
	case u.Hostname() == "" || !isPlainHost(u) || strings.Contains(u.Hostname(), "_"):
		return bad("its host name is invalid")
	case u.Port() != "" && u.Port() != "443":
		return bad("it must use port 443")
	case isAddress(u.Hostname()) || !strings.Contains(u.Hostname(), "."):
		return bad("its host must be a public name")
	}
	return nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// documentClient returns the client whose id is the URL of its metadata
// document. A stored document is used until it expires; otherwise it is fetched
// and stored. Invalid documents are not stored. It returns INVALID_PARAMETER
// with the reason for those, RATE_LIMITED if the user caused too many fetches,
// and database errors.
func (s *Server) documentClient(ctx context.Context, id, personID string) (models.OAuthClient, error) {
	if err := checkDocumentID(id); err != nil {
		return models.OAuthClient{}, err
	}
	client, ok, err := storedClient(s.db.WithContext(ctx), id)
	if err != nil {
		return client, fault.Internal(err)
	}
	if ok && client.FreshUntil != nil && s.now().Before(*client.FreshUntil) {
		return client, nil
	}
	if err := s.count(ctx, "document:"+personID, DocumentsPerHour); err != nil {
		return client, err
	}
	read, err := s.readDocument(ctx, id)
	if err != nil {
		return client, err
	}
	err = s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "id"}},
		DoUpdates: clause.AssignmentColumns([]string{"name", "redirect_uris", "fresh_until"}),
	}).Create(&read).Error
	if err != nil {
		return client, fault.Internal(err)
	}
	return read, nil
}

// readDocument fetches and validates a metadata document.
func (s *Server) readDocument(ctx context.Context, id string) (models.OAuthClient, error) {
	bad := func(why string) error {
		return fault.Invalid("The client's metadata document %s is invalid: %s.", id, why)
	}
	body, keep, err := s.fetchDocument(ctx, id)
	if err != nil {
		var f *fault.Fault
		if errors.As(err, &f) {
			return models.OAuthClient{}, bad(f.Message)
		}
		// Connection errors would reveal details of the internal network.
		return models.OAuthClient{}, fault.Invalid("Can't fetch the client's metadata document %s.", id).Because(err)
	}
	m, err := parseMetadata(body)
	if err == nil {
		err = m.check()
	}
	switch {
	case err != nil:
	case m.ClientID != id:
		return models.OAuthClient{}, bad("its client_id is not its own URL")
	case m.ClientSecret != nil || m.SecretEnds != nil:
		return models.OAuthClient{}, bad("it has a client_secret")
	case m.AuthMethod != "" && m.AuthMethod != string(models.AuthMethodNone):
		return models.OAuthClient{}, bad("token_endpoint_auth_method must be none")
	}
	client := models.OAuthClient{
		ID: id, Kind: models.ClientDocument, Name: cleanName(m.ClientName), AuthMethod: models.AuthMethodNone, SecretHash: []byte{}, CreatedAt: s.now(),
	}
	if err == nil {
		client.RedirectURIs, err = m.usableRedirects()
	}
	var refusal *ProtocolError
	if errors.As(err, &refusal) {
		return models.OAuthClient{}, bad(refusal.Description)
	}
	until := s.now().Add(keep)
	client.FreshUntil = &until
	return client, err
}

// fetchDocument returns the bytes of a document and its lifetime. Its faults
// concern the response; other errors the connection.
func (s *Server) fetchDocument(ctx context.Context, id string) (body []byte, keep time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, DocumentTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Accept", "application/json")
	// RoundTrip follows no redirects: the document must be at its id's URL.
	answer, err := s.documents.RoundTrip(request)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	switch kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); {
	case answer.StatusCode != http.StatusOK:
		return nil, 0, fault.Invalid("its host responded with status %d", answer.StatusCode)
	case kind != "application/json" && (!strings.HasPrefix(kind, "application/") || !strings.HasSuffix(kind, "+json")):
		return nil, 0, fault.Invalid("it is not served as application/json")
	}
	body, err = io.ReadAll(io.LimitReader(answer.Body, MaxDocument+1))
	if err != nil {
		return nil, 0, err
	}
	if len(body) > MaxDocument {
		return nil, 0, fault.Invalid("it is larger than 5 KiB")
	}
	return body, freshness(answer.Header.Get("Cache-Control")), nil
}

// freshness returns the lifetime of a response with the header (RFC 9111,
// section 5.2), within the limits.
func freshness(header string) time.Duration {
	keep := DocumentMinTTL
	for directive := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache", "private":
			return DocumentMinTTL
		case "max-age":
			seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 64)
			if err == nil && seconds > 0 {
				keep = time.Duration(min(seconds, int64(DocumentMaxTTL/time.Second))) * time.Second
			}
		}
	}
	return min(max(keep, DocumentMinTTL), DocumentMaxTTL)
}

// hostOf returns the host of a client's metadata document, or "".
func hostOf(client *models.OAuthClient) string {
	if client.Kind != models.ClientDocument {
		return ""
	}
	u, err := url.Parse(client.ID)
	if err != nil {
		return ""
	}
	if host, port, err := net.SplitHostPort(u.Host); err == nil && port == "443" {
		return host
	}
	return u.Host
}
