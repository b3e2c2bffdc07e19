// Package entry reads the commands of a file: the programs of local servers, and
// how to run them.
package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Start selects when a program starts.
type Start string

// Eager programs start with the runner and again after each end. Lazy ones start
// once while their tools are unknown, and then at the first call.
const (
	Lazy  Start = "lazy"
	Eager Start = "eager"
)

// Limits of an entry.
const (
	MaxArgs  = 256
	MaxEnv   = 128
	MaxValue = 32 << 10 // bytes of an argument or a value
)

// Command is the program of an entry. Changing it means another program.
type Command struct {
	Program string            `json:"program"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	EnvFile string            `json:"envFile"`
	Dir     string            `json:"cwd"`
	// Writable are the directories that the program can write; nil means all.
	Writable []string `json:"sandbox"`
}

// Settings limit an entry's program and its times.
type Settings struct {
	Start        Start
	IdleTimeout  time.Duration // 0 means never
	StartTimeout time.Duration
	MaxProcesses int
	Memory       int64 // MiB of the process tree
	Files        uint64
	Roots        bool // relay the client's roots
	PerClient    bool // one process per client session
}

// Entry is a server of a file that is a program.
type Entry struct {
	Name string
	Command
	Settings
	// Problem is the reason for which the program can't be run, or empty.
	Problem string
}

// Hash identifies the command as written.
func (e *Entry) Hash() string {
	raw, err := json.Marshal(e.Command)
	if err != nil { // impossible: only strings
		return ""
	}
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:])
}
