package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// How long a browser session lives (OWASP ASVS 5.0.0, section 7.3).
const (
	SessionIdle     = 12 * time.Hour
	SessionLifetime = 7 * 24 * time.Hour

	// A confirmation lasts for StepUpIdle after the last request of the session,
	// and at most for StepUpLifetime.
	StepUpIdle     = 60 * time.Minute
	StepUpLifetime = 8 * time.Hour

	// SessionMemory is the time for which the row of an expired session stays, so
	// that a form that comes too late can be attributed to its user.
	SessionMemory = 7 * 24 * time.Hour

	MaxSessions = 50 // live ones of a person; a further sign-in ends the oldest

	sessionSize   = 32 // random bytes in a cookie
	seenInterval  = time.Minute
	maxUserAgent  = 300 // characters
	csrfPurpose   = "gateway csrf v1"
	cookieEncoded = 43 // characters of sessionSize bytes in base64url
)

// Browser is where a person signs in from.
type Browser struct {
	IP        string
	UserAgent string
	Cookie    string // of the session that the browser has already; empty without one
	Device    string // cookie of a browser in which a person signed in before; empty without one
}

// SessionInfo is a live browser session.
type SessionInfo struct {
	ID              string // stays when the cookie's value is renewed
	Person          Person
	CSRF            string // what forms of this session carry; empty in lists
	CreatedAt       time.Time
	LastSeenAt      time.Time // to the minute
	AuthenticatedAt time.Time // when the person last proved who they are
	ConfirmedUntil  time.Time // when that proof no longer allows changing secrets
	ExpiresAt       time.Time // when it ends whatever happens
	IP              string
	UserAgent       string
}

// SignedIn is a session that just began or was renewed. The cookie's value is
// not stored and cannot be had again.
type SignedIn struct {
	Cookie  secrets.Value
	Device  secrets.Value // cookie by which the browser is known later; zero when the session was renewed
	Session SessionInfo
}

// Session returns the live session of a cookie's value, with the person as
// they are now, and writes, at most once a minute, that it was seen, which
// prolongs a confirmation that still holds. It returns UNAUTHORIZED for a value
// of an unknown session, or whose session ended, or whose person may not sign in
// any more.
func (p *People) Session(ctx context.Context, cookie string) (SessionInfo, error) {
	return p.seen(ctx, cookie, true)
}

// WatchingSession is Session for an open page that asks without its user: it
// does not prolong a confirmation.
func (p *People) WatchingSession(ctx context.Context, cookie string) (SessionInfo, error) {
	return p.seen(ctx, cookie, false)
}

func (p *People) seen(ctx context.Context, cookie string, active bool) (SessionInfo, error) {
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
		// A full disk must not sign out the administrator who is to deal with it.
		if f := fault.From(err); err != nil && f.Code != fault.CodeStorageFull {
			return SessionInfo{}, f
		}
	}
	return sessionInfo(row, user, cookie), nil
}

// confirmedAt returns when a request last found the proof of a session good.
func confirmedAt(row *models.BrowserSession) time.Time {
	if row.ConfirmedAt == nil || row.ConfirmedAt.Before(row.AuthenticatedAt) {
		return row.AuthenticatedAt
	}
	return *row.ConfirmedAt
}

// confirmedUntil returns when the proof of a session stops being good unless
// the session is used before.
func confirmedUntil(row *models.BrowserSession) time.Time {
	idle, last := confirmedAt(row).Add(StepUpIdle), row.AuthenticatedAt.Add(StepUpLifetime)
	if idle.Before(last) {
		return idle
	}
	return last
}

// ExpiredSession returns the session of a cookie's value that ended by its age
// within SessionMemory, with the person as they are now. It returns
// UNAUTHORIZED for every other value: a session that was ended on purpose
// leaves nothing behind.
func (p *People) ExpiredSession(ctx context.Context, cookie string) (SessionInfo, error) {
	row, user, err := p.session(p.db.WithContext(ctx), cookie, func(row *models.BrowserSession) bool {
		return row.RevokedAt == nil && !p.live(row)
	})
	if err != nil {
		return SessionInfo{}, fault.From(err)
	}
	return sessionInfo(row, user, cookie), nil
}

// liveSession returns the rows of a session that is neither ended nor too old.
func (p *People) liveSession(tx *gorm.DB, cookie string) (models.BrowserSession, models.User, error) {
	return p.session(tx, cookie, p.live)
}

// session returns the rows of a session that is acceptable, of a person who may
// sign in.
func (p *People) session(tx *gorm.DB, cookie string, acceptable func(*models.BrowserSession) bool) (models.BrowserSession, models.User, error) {
	var row models.BrowserSession
	var user models.User
	hash, ok := sessionHash(cookie)
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

func (p *People) live(row *models.BrowserSession) bool {
	now := p.now()
	return row.RevokedAt == nil && now.Sub(row.CreatedAt) < SessionLifetime && now.Sub(row.LastSeenAt) < SessionIdle
}

// Sessions returns a person's live sessions, the newest first.
func (p *People) Sessions(ctx context.Context, userID string) ([]SessionInfo, error) {
	user, err := userByID(p.db.WithContext(ctx), userID)
	if err != nil {
		return nil, fault.From(err)
	}
	var rows []models.BrowserSession
	err = p.db.WithContext(ctx).Order("created_at DESC, id DESC").
		Find(&rows, "user_id = ? AND revoked_at IS NULL AND created_at > ? AND last_seen_at > ?", userID, p.now().Add(-SessionLifetime), p.now().Add(-SessionIdle)).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	out := make([]SessionInfo, len(rows))
	for i := range rows {
		out[i] = sessionInfo(rows[i], user, "")
	}
	return out, nil
}

// SignOut ends the session of a cookie's value and records it. A value that is
// of no live session changes nothing.
func (p *People) SignOut(ctx context.Context, cookie string) error {
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

// EndSession ends one session of a person and records it. It returns NOT_FOUND
// when the person has no such live session.
func (p *People) EndSession(ctx context.Context, userID, sessionID string) error {
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

// SignOutEverywhere ends every session of a person and records it. It returns
// NOT_FOUND for an unknown person.
func (p *People) SignOutEverywhere(ctx context.Context, userID string) error {
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

// endSessions ends every session of a person but the one with the id, and
// returns how many.
func (p *People) endSessions(tx *gorm.DB, userID, butID string) (int64, error) {
	result := tx.Model(&models.BrowserSession{}).Where("user_id = ? AND id <> ? AND revoked_at IS NULL", userID, butID).Update("revoked_at", p.now())
	return result.RowsAffected, result.Error
}

func (p *People) endSession(tx *gorm.DB, hash []byte) error {
	return tx.Model(&models.BrowserSession{}).Where("hash = ? AND revoked_at IS NULL", hash).Update("revoked_at", p.now()).Error
}

// begin stores a new session of a person and ends the one that the browser
// had. If that was the same person's, the token of its forms stays good, so
// that pages that are open in other windows can still be sent.
func (p *People) begin(tx *gorm.DB, user models.User, from Browser, authenticatedAt time.Time) (SignedIn, error) {
	cookie, hash := newCookie()
	csrf := csrfToken(cookie.Reveal())
	if hash, ok := sessionHash(from.Cookie); ok {
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
	// A browser that signs in again and again leaves no more than so many behind.
	err := tx.Model(&models.BrowserSession{}).Where(`user_id = ? AND revoked_at IS NULL AND id NOT IN (
		SELECT id FROM browser_sessions WHERE user_id = ? AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT ?)`, user.ID, user.ID, MaxSessions).
		Update("revoked_at", now).Error
	if err != nil {
		return SignedIn{}, err
	}
	device, err := p.issueDevice(from.Device, user.Email)
	if err != nil {
		return SignedIn{}, err
	}
	return SignedIn{Cookie: cookie, Device: device, Session: sessionInfo(row, user, cookie.Reveal())}, nil
}

// renew gives a session another cookie value and notes that its person just
// proved who they are. Its age stays: proving it does not lengthen its life.
// The token of its forms stays too, so that pages that are open in other
// windows can still be sent.
func (p *People) renew(tx *gorm.DB, row models.BrowserSession, user models.User, old string) (SignedIn, error) {
	cookie, hash := newCookie()
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
	return SignedIn{Cookie: cookie, Session: sessionInfo(row, user, cookie.Reveal())}, nil
}

func sessionInfo(row models.BrowserSession, user models.User, cookie string) SessionInfo {
	info := SessionInfo{
		ID: row.ID, Person: personOf(&user), CreatedAt: row.CreatedAt, LastSeenAt: row.LastSeenAt, AuthenticatedAt: row.AuthenticatedAt,
		ConfirmedUntil: confirmedUntil(&row), ExpiresAt: row.CreatedAt.Add(SessionLifetime), IP: row.IP, UserAgent: row.UserAgent,
	}
	if cookie != "" {
		info.CSRF = cmp.Or(row.CSRF, csrfToken(cookie))
	}
	return info
}

// csrfToken derives the token that forms carry from the cookie's value, which
// no other site can read.
func csrfToken(cookie string) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte(csrfPurpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func newCookie() (value secrets.Value, hash []byte) {
	raw := make([]byte, sessionSize)
	rand.Read(raw) // never fails
	sum := sha256.Sum256(raw)
	return secrets.NewValue(base64.RawURLEncoding.EncodeToString(raw)), sum[:]
}

// sessionHash returns what is stored of a cookie's value; ok is false for a
// text that never is one, which needs no look into the database.
func sessionHash(cookie string) (hash []byte, ok bool) {
	if len(cookie) != cookieEncoded || strings.ContainsAny(cookie, "\r\n") {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cookie)
	if err != nil {
		return nil, false
	}
	sum := sha256.Sum256(raw)
	return sum[:], true
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

// actingAs returns the transaction with the person as its actor, for those
// who prove who they are only now.
func actingAs(tx *gorm.DB, user *models.User, ip string) *gorm.DB {
	actor := activity.ActorOf(tx.Statement.Context)
	actor.Kind, actor.ID, actor.Name = activity.ActorUser, user.ID, user.Email
	if ip != "" {
		actor.IP = ip
	}
	return tx.WithContext(activity.WithActor(tx.Statement.Context, actor))
}

// fromTransaction returns the fault of a transaction's error, or nil.
func fromTransaction(err error) error {
	if err == nil {
		return nil
	}
	return fault.From(err)
}
