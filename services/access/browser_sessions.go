package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Lifetimes of browser sessions (OWASP ASVS 5.0.0, section 7.3).
const (
	SessionIdle     = 12 * time.Hour
	SessionLifetime = 7 * 24 * time.Hour

	// A confirmation of the password is valid until StepUpIdle after the last
	// request of the session, and for at most StepUpLifetime.
	StepUpIdle     = 60 * time.Minute
	StepUpLifetime = 8 * time.Hour

	// SessionMemory is the time an expired session stays stored, so that a form
	// submitted too late can be attributed to its user.
	SessionMemory = 7 * 24 * time.Hour

	MaxSessions = 50 // live sessions of a user; another sign-in ends the oldest

	randomSize   = 32 // random bytes of tokens
	seenInterval = time.Minute
	maxUserAgent = 300 // characters
	csrfPurpose  = "gateway csrf v1"
)

// Browser identifies the browser that a user signs in with.
type Browser struct {
	IP        string
	UserAgent string
	Cookie    string // of the browser's current session; empty without one
	Device    string // cookie of a browser with an earlier sign-in; empty without one
}

// SessionInfo is a live browser session.
type SessionInfo struct {
	ID              string // unchanged when the cookie value is renewed
	Person          User
	CSRF            string // token of this session's forms; empty in lists
	CreatedAt       time.Time
	LastSeenAt      time.Time // with a precision of one minute
	AuthenticatedAt time.Time // last authentication of the user
	ConfirmedUntil  time.Time // end of the permission to change secrets
	ExpiresAt       time.Time // absolute expiry
	IP              string
	UserAgent       string
}

// SignedIn is a new or renewed session. Its cookie value can't be read again.
type SignedIn struct {
	Cookie  secrets.Value
	Device  secrets.Value // cookie that identifies the browser at later sign-ins; zero for a renewed session
	Session SessionInfo
	// SecondStep is the cookie for FinishSignIn. If set, there is no session yet.
	SecondStep secrets.Value
}

// Session returns the live session of a cookie value, with the user's current
// data. At most once a minute, it writes the time of use, which extends a
// confirmation that is still valid. It returns UNAUTHORIZED for an unknown or
// ended session and for a user who may not sign in.
func (p *Users) Session(ctx context.Context, cookie string) (SessionInfo, error) {
	return p.seen(ctx, cookie, true)
}

// WatchingSession is Session for the automatic requests of an open page. It
// doesn't extend a confirmation.
func (p *Users) WatchingSession(ctx context.Context, cookie string) (SessionInfo, error) {
	return p.seen(ctx, cookie, false)
}

func (p *Users) seen(ctx context.Context, cookie string, active bool) (SessionInfo, error) {
	row, user, err := p.liveSession(p.db.WithContext(ctx), cookie)
	if err != nil {
		return SessionInfo{}, fault.From(err)
	}
	now := p.now()
	changes := map[string]any{}
	if now.Sub(row.LastSeenAt) >= seenInterval {
		changes["last_seen_at"], row.LastSeenAt = now, now
	}
	if active && now.Before(confirmedUntil(&row)) && now.Sub(confirmedAt(&row)) >= seenInterval {
		changes["confirmed_at"], row.ConfirmedAt = now, &now
	}
	if len(changes) > 0 {
		err := p.db.WithContext(ctx).Model(&models.BrowserSession{}).Where("hash = ? AND last_seen_at <= ?", row.Hash, now).Updates(changes).Error
		// A full disk must not sign out the administrator who has to fix it.
		if f := fault.From(err); err != nil && f.Code != fault.CodeStorageFull {
			return SessionInfo{}, f
		}
	}
	return p.sessionInfo(p.db.WithContext(ctx), row, user, cookie)
}

// confirmedAt returns the last time a request extended the confirmation of a
// session.
func confirmedAt(row *models.BrowserSession) time.Time {
	if row.ConfirmedAt == nil || row.ConfirmedAt.Before(row.AuthenticatedAt) {
		return row.AuthenticatedAt
	}
	return *row.ConfirmedAt
}

// confirmedUntil returns the expiry of a session's confirmation if no further
// request extends it.
func confirmedUntil(row *models.BrowserSession) time.Time {
	idle, last := confirmedAt(row).Add(StepUpIdle), row.AuthenticatedAt.Add(StepUpLifetime)
	if idle.Before(last) {
		return idle
	}
	return last
}

// ExpiredSession returns a session that expired less than SessionMemory ago,
// with the user's current data. It returns UNAUTHORIZED for every other cookie
// value, including those of revoked sessions.
func (p *Users) ExpiredSession(ctx context.Context, cookie string) (SessionInfo, error) {
	row, user, err := p.session(p.db.WithContext(ctx), cookie, func(row *models.BrowserSession) bool {
		return row.RevokedAt == nil && !p.live(row)
	})
	if err != nil {
		return SessionInfo{}, fault.From(err)
	}
	return p.sessionInfo(p.db.WithContext(ctx), row, user, cookie)
}

// liveSession returns the rows of a session that is neither revoked nor
// expired.
func (p *Users) liveSession(tx *gorm.DB, cookie string) (models.BrowserSession, models.User, error) {
	return p.session(tx, cookie, p.live)
}

// session returns the rows of an acceptable session whose user may sign in.
func (p *Users) session(tx *gorm.DB, cookie string, acceptable func(*models.BrowserSession) bool) (models.BrowserSession, models.User, error) {
	var row models.BrowserSession
	var user models.User
	hash, ok := secrets.RandomHash(cookie)
	if !ok {
		return row, user, fault.Unauthorized()
	}
	err := tx.First(&row, "hash = ?", hash).Error
	if errors.Is(err, gorm.ErrRecordNotFound) || err == nil && !acceptable(&row) {
		return row, user, fault.Unauthorized()
	}
	if err != nil {
		return row, user, err
	}
	err = tx.First(&user, "id = ?", row.UserID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) || err == nil && user.DisabledAt != nil {
		return row, user, fault.Unauthorized()
	}
	return row, user, err
}

func (p *Users) live(row *models.BrowserSession) bool {
	now := p.now()
	return row.RevokedAt == nil && now.Sub(row.CreatedAt) < SessionLifetime && now.Sub(row.LastSeenAt) < SessionIdle
}

// IsLive reports whether the session with an id is live.
func (p *Users) IsLive(tx *gorm.DB, sessionID string) (bool, error) {
	var row models.BrowserSession
	found := tx.Limit(1).Find(&row, "id = ?", sessionID)
	return found.RowsAffected == 1 && p.live(&row), found.Error
}

// Sessions returns a user's live sessions, newest first.
func (p *Users) Sessions(ctx context.Context, userID string) ([]SessionInfo, error) {
	person, err := p.Get(ctx, userID)
	if err != nil {
		return nil, err
	}
	var rows []models.BrowserSession
	err = p.db.WithContext(ctx).Order("created_at DESC, id DESC").
		Find(&rows, "user_id = ? AND revoked_at IS NULL AND created_at > ? AND last_seen_at > ?", userID, p.now().Add(-SessionLifetime), p.now().Add(-SessionIdle)).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	out := make([]SessionInfo, len(rows))
	for i := range rows {
		out[i] = infoOf(rows[i], person, "")
	}
	return out, nil
}

// SignOut ends the session of a cookie value and records it. It does nothing
// for a value without a live session.
func (p *Users) SignOut(ctx context.Context, cookie string) error {
	err := models.EssentialTransaction(ctx, p.db, func(tx *gorm.DB) error {
		row, user, err := p.liveSession(tx, cookie)
		if fault.Is(err, fault.CodeUnauthorized) {
			return nil
		}
		if err != nil {
			return err
		}
		tx = actingAs(tx, &user, row.IP)
		if err := p.endSession(tx, row.Hash); err != nil {
			return err
		}
		return p.audit.Record(tx, entry("logout", &user))
	})
	return fromTransaction(err)
}

// EndSession ends one session of a user and records it. It returns NOT_FOUND if
// the user has no such live session.
func (p *Users) EndSession(ctx context.Context, userID, sessionID string) error {
	err := models.EssentialTransaction(ctx, p.db, func(tx *gorm.DB) error {
		user, err := userByID(tx, userID)
		if err != nil {
			return err
		}
		result := tx.Model(&models.BrowserSession{}).Where("user_id = ? AND id = ? AND revoked_at IS NULL", userID, sessionID).Update("revoked_at", p.now())
		if result.Error != nil {
			return result.Error
		}
		if result.RowsAffected == 0 {
			return fault.NotFound("session", sessionID)
		}
		return p.audit.Record(tx, entry("session.revoked", &user, "session", sessionID))
	})
	return fromTransaction(err)
}

// SignOutEverywhere ends every session of a user and records it. It returns
// NOT_FOUND for an unknown user.
func (p *Users) SignOutEverywhere(ctx context.Context, userID string) error {
	err := models.EssentialTransaction(ctx, p.db, func(tx *gorm.DB) error {
		user, err := userByID(tx, userID)
		if err != nil {
			return err
		}
		n, err := p.endSessions(tx, userID, "")
		if err != nil {
			return err
		}
		return p.audit.Record(tx, entry("session.revoked_all", &user, "sessions", decimal(n)))
	})
	return fromTransaction(err)
}

// endSessions ends every session of a user except butID and returns their
// number.
func (p *Users) endSessions(tx *gorm.DB, userID, butID string) (int64, error) {
	result := tx.Model(&models.BrowserSession{}).Where("user_id = ? AND id <> ? AND revoked_at IS NULL", userID, butID).Update("revoked_at", p.now())
	return result.RowsAffected, result.Error
}

func (p *Users) endSession(tx *gorm.DB, hash []byte) error {
	return tx.Model(&models.BrowserSession{}).Where("hash = ? AND revoked_at IS NULL", hash).Update("revoked_at", p.now()).Error
}

// begin stores a new session of a user and ends the browser's previous one. If
// that belonged to the same user, its CSRF token is kept, so that pages open in
// other windows can still be submitted.
func (p *Users) begin(tx *gorm.DB, user models.User, from Browser, authenticatedAt time.Time) (SignedIn, error) {
	cookie, hash := secrets.Random()
	csrf := csrfToken(cookie.Reveal())
	if hash, ok := secrets.RandomHash(from.Cookie); ok {
		var old models.BrowserSession
		found := tx.Limit(1).Find(&old, "hash = ? AND user_id = ? AND revoked_at IS NULL", hash, user.ID)
		if found.Error != nil {
			return SignedIn{}, found.Error
		}
		if found.RowsAffected == 1 {
			csrf = cmp.Or(old.CSRF, csrfToken(from.Cookie))
		}
		if err := p.endSession(tx, hash); err != nil {
			return SignedIn{}, err
		}
	}
	now := p.now()
	row := models.BrowserSession{
		Hash: hash, ID: uuid.Must(uuid.NewV7()).String(), UserID: user.ID, CreatedAt: now, LastSeenAt: now, AuthenticatedAt: authenticatedAt,
		CSRF: csrf, IP: from.IP, UserAgent: shortUserAgent(from.UserAgent),
	}
	if err := tx.Create(&row).Error; err != nil {
		return SignedIn{}, err
	}
	// Repeated sign-ins leave at most MaxSessions live sessions.
	err := tx.Model(&models.BrowserSession{}).Where(`user_id = ? AND revoked_at IS NULL AND id NOT IN (
		SELECT id FROM browser_sessions WHERE user_id = ? AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT ?)`, user.ID, user.ID, MaxSessions).
		Update("revoked_at", now).Error
	if err != nil {
		return SignedIn{}, err
	}
	device, err := p.attempts.IssueDevice(from.Device, foldEmail(cmp.Or(user.Email, user.EmailFold)))
	if err != nil {
		return SignedIn{}, err
	}
	session, err := p.sessionInfo(tx, row, user, cookie.Reveal())
	return SignedIn{Cookie: cookie, Device: device, Session: session}, err
}

// renew replaces the cookie value of a session and stores the time of the
// user's authentication. The creation time stays, so that the absolute expiry
// doesn't move. The CSRF token stays too, so that pages open in other windows
// can still be submitted.
func (p *Users) renew(tx *gorm.DB, row models.BrowserSession, user models.User, old string) (SignedIn, error) {
	cookie, hash := secrets.Random()
	now := p.now()
	if row.CSRF == "" {
		row.CSRF = csrfToken(old)
	}
	result := tx.Model(&models.BrowserSession{}).Where("hash = ? AND revoked_at IS NULL", row.Hash).
		Updates(map[string]any{"hash": hash, "authenticated_at": now, "confirmed_at": now, "last_seen_at": now, "csrf": row.CSRF})
	if result.Error != nil {
		return SignedIn{}, result.Error
	}
	if result.RowsAffected != 1 {
		return SignedIn{}, fault.Unauthorized()
	}
	row.Hash, row.AuthenticatedAt, row.ConfirmedAt, row.LastSeenAt = hash, now, &now, now
	session, err := p.sessionInfo(tx, row, user, cookie.Reveal())
	return SignedIn{Cookie: cookie, Session: session}, err
}

// sessionInfo describes a session with the user's current roles.
func (p *Users) sessionInfo(tx *gorm.DB, row models.BrowserSession, user models.User, cookie string) (SessionInfo, error) {
	person, err := p.person(tx, &user)
	if err != nil {
		return SessionInfo{}, err
	}
	return infoOf(row, person, cookie), nil
}

func infoOf(row models.BrowserSession, person User, cookie string) SessionInfo {
	info := SessionInfo{
		ID: row.ID, Person: person, CreatedAt: row.CreatedAt, LastSeenAt: row.LastSeenAt, AuthenticatedAt: row.AuthenticatedAt,
		ConfirmedUntil: confirmedUntil(&row), ExpiresAt: row.CreatedAt.Add(SessionLifetime), IP: row.IP, UserAgent: row.UserAgent,
	}
	if cookie != "" {
		info.CSRF = cmp.Or(row.CSRF, csrfToken(cookie))
	}
	return info
}

// csrfToken derives the CSRF token from the cookie value, which other sites
// can't read.
func csrfToken(cookie string) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte(csrfPurpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func shortUserAgent(s string) string {
	s = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s), "")
	if utf8.RuneCountInString(s) > maxUserAgent {
		return string([]rune(s)[:maxUserAgent])
	}
	return s
}

// fromTransaction converts a transaction's error to a fault, or nil.
func fromTransaction(err error) error {
	if err == nil {
		return nil
	}
	return fault.From(err)
}
