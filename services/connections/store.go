package connections

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/toolset"
)

// Accounts stores the connections of users. Implemented by
// oauthclient.Connections.
type Accounts interface {
	PersonalStatuses(ctx context.Context, userID string) ([]oauthclient.PersonalStatus, error)
	StatusesOf(ctx context.Context, serverID string) ([]oauthclient.PersonalStatus, error)
	Start(ctx context.Context, s oauthclient.Start) (authorizeURL string, err error)
	StoreToken(ctx context.Context, serverID, userID string, t oauthclient.PersonalToken) error
	Disconnect(ctx context.Context, serverID, userID string) (revoked bool, err error)
}

// Projects returns the projects that users may use. Implemented by personal.Own.
type Projects interface {
	Projects(userID string) []personal.Project
}

// Directory returns the current snapshots of projects. Implemented by
// toolset.Directory.
type Directory interface{ All() []*toolset.Snapshot }

// Views returns what users see of a project. Implemented by views.Views.
type Views interface {
	Held(project *toolset.Snapshot, held rights.Held) *toolset.Snapshot
}

// Options are the dependencies of a Store.
type Options struct {
	DB        *gorm.DB
	Accounts  Accounts
	Projects  Projects
	Directory Directory
	Views     Views
	PublicURL *url.URL
}

// Store manages the connections of users to the servers that everyone uses with
// their own account.
type Store struct{ Options }

// NewStore returns the Store.
func NewStore(o Options) *Store { return &Store{o} }

// Mine is a server that a user can connect to or is connected to, and the user's
// connection.
type Mine struct {
	Server  models.Server
	Project models.Project
	Usable  bool // the user holds a tool of the server
	Status  oauthclient.PersonalStatus
}

// Host returns the host of the server's URL.
func (m Mine) Host() string {
	u, err := url.Parse(m.Server.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Connected reports whether requests can use the connection.
func (m Mine) Connected() bool { return IsUsable(m.Status.State) }

// IsUsable reports whether requests can use a connection in a state.
func IsUsable(state oauthclient.State) bool {
	return state == oauthclient.Connected || state == oauthclient.Expiring || state == oauthclient.Degraded
}

// Rejected reports whether the user must connect again because the server or its
// authorization server rejects the credentials.
func (m Mine) Rejected() bool {
	switch m.Status.State {
	case oauthclient.NeedsReauth, oauthclient.IssuerChanged, oauthclient.RegistrationRejected, oauthclient.BlockedByPolicy:
		return m.Exists()
	}
	return false
}

// Exists reports whether the user has a connection, usable or not.
func (m Mine) Exists() bool { return m.Status.ConnectedAt != nil }

// SignsIn reports whether the user authorizes the gateway by OAuth.
func (m Mine) SignsIn() bool { return m.Server.AuthType == models.UpstreamAuthOAuth }

// EntersToken reports whether the user enters a bearer token or header values.
func (m Mine) EntersToken() bool {
	return m.Server.AuthType == models.UpstreamAuthBearer || len(m.Server.PersonalHeaders) > 0
}

// Mine returns the servers that a user can connect to, with the user's
// connections: those of which the user holds a tool, and others that the user is
// still connected to. They are ordered by project and alias.
func (s *Store) Mine(ctx context.Context, userID string) ([]Mine, error) {
	statuses, err := s.Accounts.PersonalStatuses(ctx, userID)
	if err != nil {
		return nil, err
	}
	byServer := make(map[string]oauthclient.PersonalStatus, len(statuses))
	for _, status := range statuses {
		byServer[status.ServerID] = status
	}
	var all []Mine
	listed := map[string]bool{}
	add := func(p *toolset.Snapshot, server *toolset.Server, usable bool) {
		mine := Mine{Server: server.Config, Project: p.Project, Usable: usable, Status: byServer[server.Config.ID]}
		if mine.Status.State == "" {
			mine.Status.State = oauthclient.NotConnected
		}
		if server.Config.IsPersonal() && !listed[server.Config.ID] && (usable || mine.Exists()) {
			listed[server.Config.ID] = true
			all = append(all, mine)
		}
	}
	for _, p := range s.Projects.Projects(userID) {
		for _, server := range s.Views.Held(p.Snapshot, p.Held).Servers {
			add(p.Snapshot, server, server.Config.Enabled)
		}
	}
	for _, p := range s.Directory.All() {
		for _, server := range p.Servers {
			add(p, server, false)
		}
	}
	slices.SortFunc(all, func(a, b Mine) int {
		return cmp.Or(cmp.Compare(a.Project.Slug, b.Project.Slug), cmp.Compare(a.Server.AliasFold, b.Server.AliasFold))
	})
	return all, nil
}

// MyServer returns one of the servers of Mine, or NOT_FOUND.
func (s *Store) MyServer(ctx context.Context, userID, serverID string) (Mine, error) {
	all, err := s.Mine(ctx, userID)
	if err != nil {
		return Mine{}, err
	}
	for _, mine := range all {
		if mine.Server.ID == serverID {
			return mine, nil
		}
	}
	return Mine{}, fault.NotFound("server", serverID)
}

// usable is MyServer for a server that the user may connect to.
func (s *Store) usable(ctx context.Context, userID, serverID string) (Mine, error) {
	mine, err := s.MyServer(ctx, userID, serverID)
	if err == nil && !mine.Usable {
		return mine, fault.NotFound("server", serverID)
	}
	return mine, err
}

// Start starts the authorization of a user's own account in a browser session and
// returns the URL of the authorization server. It returns NOT_FOUND for a server
// that the user may not connect to, and CONFLICT for one that requires a token.
func (s *Store) Start(ctx context.Context, userID, sessionID, serverID string, inventory bool) (authorizeURL string, err error) {
	mine, err := s.usable(ctx, userID, serverID)
	if err != nil {
		return "", err
	}
	if !mine.SignsIn() {
		return "", fault.Conflict("Server %s doesn't use OAuth. Enter your own token instead.", mine.Server.Alias)
	}
	return s.Accounts.Start(ctx, oauthclient.Start{ServerID: serverID, SessionID: sessionID, UserID: userID, Inventory: inventory})
}

// StoreToken connects a user to a server with a token and header values. It
// returns NOT_FOUND for a server that the user may not connect to, CONFLICT for
// one that requires neither, and VALIDATION_FAILED for missing, unknown and
// invalid values.
func (s *Store) StoreToken(ctx context.Context, userID, serverID string, t oauthclient.PersonalToken) error {
	if _, err := s.usable(ctx, userID, serverID); err != nil {
		return err
	}
	return s.Accounts.StoreToken(ctx, serverID, userID, t)
}

// Disconnect deletes a user's connection to a server. revoked reports whether the
// provider confirmed that the tokens are revoked. It returns NOT_FOUND without a
// connection.
func (s *Store) Disconnect(ctx context.Context, userID, serverID string) (revoked bool, err error) {
	mine, err := s.MyServer(ctx, userID, serverID)
	if err != nil {
		return false, err
	}
	if !mine.Exists() {
		return false, fault.NotFound("connection", serverID)
	}
	return s.Accounts.Disconnect(ctx, serverID, userID)
}

// Theirs is the connection of a user to a server.
type Theirs struct {
	Connected
	Status oauthclient.PersonalStatus
}

// Of returns the connections of users to a server, by name.
func (s *Store) Of(ctx context.Context, serverID string) ([]Theirs, error) {
	people, err := Of(s.DB.WithContext(ctx), serverID)
	if err != nil {
		return nil, fault.Internal(err)
	}
	statuses, err := s.Accounts.StatusesOf(ctx, serverID)
	if err != nil {
		return nil, err
	}
	byUser := make(map[string]oauthclient.PersonalStatus, len(statuses))
	for _, status := range statuses {
		byUser[status.UserID] = status
	}
	var all []Theirs
	for _, p := range people {
		if status, ok := byUser[p.UserID]; ok && status.ConnectedAt != nil {
			all = append(all, Theirs{p, status})
		}
	}
	slices.SortStableFunc(all, func(a, b Theirs) int { return strings.Compare(strings.ToLower(a.Label()), strings.ToLower(b.Label())) })
	return all, nil
}

// Remove deletes the connection of a user to a server for an administrator. It
// returns NOT_FOUND without a connection.
func (s *Store) Remove(ctx context.Context, serverID, userID string) (revoked bool, err error) {
	all, err := s.Of(ctx, serverID)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(all, func(t Theirs) bool { return t.UserID == userID }) {
		return false, fault.NotFound("connection", userID)
	}
	return s.Accounts.Disconnect(ctx, serverID, userID)
}

// RedirectURI returns the redirect URL to enter at the authorization server of a
// server, or "" while that is unknown.
func (s *Store) RedirectURI(ctx context.Context, serverID string) (string, error) {
	all, err := s.Accounts.StatusesOf(ctx, serverID)
	if err != nil {
		return "", err
	}
	for _, status := range all {
		if status.Issuer != "" {
			return s.PublicURL.JoinPath(oauthclient.CallbackPath, oauthclient.IssuerID(status.Issuer)).String(), nil
		}
	}
	return "", nil
}

// Counts returns the number of users with a connection, by server ID.
func (s *Store) Counts(ctx context.Context) (map[string]int, error) {
	var rows []struct {
		ServerID string
		People   int
	}
	err := s.DB.WithContext(ctx).Model(&models.PersonalConnection{}).Select("server_id, COUNT(*) AS people").
		Where("connected_at IS NOT NULL").Group("server_id").Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	counts := make(map[string]int, len(rows))
	for _, row := range rows {
		counts[row.ServerID] = row.People
	}
	return counts, nil
}
