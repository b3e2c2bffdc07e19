package notify

import (
	"gorm.io/gorm"

	"mcpgateway/services/fault"
)

// Names of the change feed's connections in pg_stat_activity. A version with
// settings that earlier ones would ignore needs a new name, and then all names
// before it are former ones.
const (
	applicationName = "gateway change feed 2"
	formerName      = "gateway change feed" // ignores limits of tools, overrides, and toolsets of existing keys
)

// WarnOlderReplicas is the code of the warning about settings that not all
// replicas apply yet.
const WarnOlderReplicas = "OLDER_REPLICAS"

// OlderReplicas reports whether a replica runs a version that ignores some of
// this version's settings. Every replica has a connection of the change feed,
// which PostgreSQL shows to all users until it ends (PostgreSQL manual, "pg_stat_activity").
// It returns false for SQLite, whose only process is this one.
func OlderReplicas(db *gorm.DB) (found bool, err error) {
	if db.Name() != "postgres" {
		return false, nil
	}
	err = db.Session(&gorm.Session{NewDB: true}).
		Raw("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = ?)", formerName).Scan(&found).Error
	return found, err
}

// OlderReplicasWarning returns the warning about settings, such as "Limits", that
// take effect when no older replica is left.
func OlderReplicasWarning(what string) fault.Warning {
	return fault.Warning{Code: WarnOlderReplicas, Message: "A replica of an older version is still running. " + what + " take effect when all replicas run this version."}
}
