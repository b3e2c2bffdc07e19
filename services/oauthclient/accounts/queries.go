package accounts

import (
	"cmp"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
)

// inUse is the time after its last use in which a user's account is refreshed in
// the background.
const inUse = 24 * time.Hour

// Due is the time of an account's next refresh in the background.
type Due struct {
	ID
	At time.Time
}

// NextDue returns the accounts that are due first, at most most, by time. It
// considers the shared accounts of enabled servers, and those of enabled users
// that were used in the last 24 hours. The error is the database's.
func NextDue(db *gorm.DB, now time.Time, most int) ([]Due, error) {
	servers := func(personal bool) *gorm.DB {
		enabled := db.Model(&models.Server{}).Select("id").Where("enabled = ? AND auth_type = ?", true, models.UpstreamAuthOAuth)
		if personal {
			return enabled.Where("connection = ?", models.ConnectionPersonal)
		}
		return enabled.Where("connection <> ?", models.ConnectionPersonal)
	}
	soonest := func(columns ...string) *gorm.DB {
		return db.Select(append(columns, "server_id", "refresh_at", "next_attempt_at")).
			Where("refresh_at IS NOT NULL AND (refresh_token <> '' OR registration_kind = ?)", OwnClient).
			Order("CASE WHEN next_attempt_at > refresh_at THEN next_attempt_at ELSE refresh_at END, server_id").Limit(most)
	}
	var shared []models.Connection
	if err := soonest().Where("server_id IN (?)", servers(false)).Find(&shared).Error; err != nil {
		return nil, err
	}
	var personal []models.PersonalConnection
	people := db.Model(&models.User{}).Select("id").Where("disabled_at IS NULL")
	if err := soonest("user_id").Where("used_at > ? AND server_id IN (?) AND user_id IN (?)", now.Add(-inUse), servers(true), people).Find(&personal).Error; err != nil {
		return nil, err
	}
	all := make([]Due, 0, len(shared)+len(personal))
	for i := range shared {
		all = append(all, Due{ID{ServerID: shared[i].ServerID}, dueAt(&shared[i])})
	}
	for i := range personal {
		all = append(all, Due{IDOf(&personal[i]), dueAt(&personal[i].Connection)})
	}
	slices.SortStableFunc(all, func(a, b Due) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	return all[:min(len(all), most)], nil
}

func dueAt(r *models.Connection) time.Time {
	if r.NextAttemptAt != nil && r.NextAttemptAt.After(*r.RefreshAt) {
		return *r.NextAttemptAt
	}
	return *r.RefreshAt
}

// OfUser returns all accounts of a user. The error is the database's.
func OfUser(db *gorm.DB, userID string) (rows []models.PersonalConnection, err error) {
	err = db.Order("server_id").Find(&rows, "user_id = ?", userID).Error
	return rows, err
}

// OfServer returns all users' own accounts at a server that are connected. The
// error is the database's.
func OfServer(db *gorm.DB, serverID string) (rows []models.PersonalConnection, err error) {
	err = db.Order("user_id").Find(&rows, "server_id = ? AND connected_at IS NOT NULL", serverID).Error
	return rows, err
}

// Shared returns the shared accounts of all servers by server ID; a
// non-empty only selects one server. The error is the database's.
func Shared(db *gorm.DB, only string) (map[string]*models.PersonalConnection, error) {
	if only != "" {
		db = db.Where("server_id = ?", only)
	}
	var rows []models.Connection
	if err := db.Find(&rows).Error; err != nil {
		return nil, err
	}
	byServer := make(map[string]*models.PersonalConnection, len(rows))
	for _, row := range rows {
		byServer[row.ServerID] = &models.PersonalConnection{Connection: row, Kind: models.KindOAuth}
	}
	return byServer, nil
}

// OfDisabled returns the accounts of users who were disabled before the time.
// The error is the database's.
func OfDisabled(db *gorm.DB, before time.Time) (rows []models.PersonalConnection, err error) {
	err = db.Find(&rows, "user_id IN (?)", db.Model(&models.User{}).Select("id").Where("disabled_at <= ?", before)).Error
	return rows, err
}

// LastIssuer returns the issuer of the server's shared account, or else of the
// account that a user connected last. It is empty without one. The error is the
// database's.
func LastIssuer(db *gorm.DB, serverID string) (issuer string, err error) {
	shared, _, err := Load(db, ID{ServerID: serverID})
	if err != nil || shared.Issuer != "" {
		return shared.Issuer, err
	}
	err = db.Model(&models.PersonalConnection{}).Where("server_id = ? AND issuer <> ''", serverID).
		Order("connected_at DESC, user_id").Limit(1).Pluck("issuer", &issuer).Error
	return issuer, err
}
