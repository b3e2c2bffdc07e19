package config

import (
	"time"

	"mcpgateway/models"
)

// Backup is the schedule of backups of a SQLite database.
type Backup struct {
	Dir   string        // folder of the files; empty means no backups
	Every time.Duration // between two backups
	Keep  int           // number of files that are kept
}

// Limits of the schedule.
const (
	minBackupEvery = time.Minute
	maxBackupEvery = 31 * 24 * time.Hour
	maxBackupKeep  = 1_000
)

// backup returns the schedule of backups.
func (r *loader) backup(vars variables) Backup {
	if (vars.BackupEvery < minBackupEvery || vars.BackupEvery > maxBackupEvery) && !r.isReported("GATEWAY_BACKUP_EVERY") {
		r.addProblem("GATEWAY_BACKUP_EVERY: use a duration from 1m to 744h")
	}
	if (vars.BackupKeep < 1 || vars.BackupKeep > maxBackupKeep) && !r.isReported("GATEWAY_BACKUP_KEEP") {
		r.addProblem("GATEWAY_BACKUP_KEEP: use a number from 1 to %d", maxBackupKeep)
	}
	if dialect, err := models.Dialect(vars.DatabaseURL); vars.BackupDir != "" && err == nil && dialect != "sqlite" {
		r.addProblem("GATEWAY_BACKUP_DIR: scheduled backups require SQLite. Remove it, and run `gateway backup` or pg_dump on a schedule")
	}
	return Backup{Dir: vars.BackupDir, Every: vars.BackupEvery, Keep: vars.BackupKeep}
}

// HasKeys reports whether the environment has the keys of secrets, itself or in
// a file that it names.
func HasKeys(environ []string) bool {
	vars, _ := (&loader{}).variables(environ)
	return vars.SecretsKeys != ""
}
