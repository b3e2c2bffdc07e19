package keys

import (
	"sync/atomic"
	"time"
)

// Stage is a stage of a client's first connection with a key.
type Stage int

// The stages, in their usual order. A client of MCP 2026-07-28 has no
// initialize; its server/discover counts as Initialize.
const (
	Initialize Stage = iota
	ListTools
	CallTool
	stages
)

// Step is the first request of a stage.
type Step struct {
	At     time.Time // when the response was ready
	Took   time.Duration
	Tool   string // of CallTool
	Failed bool   // the call returned an error
}

// Client is the program that uses a key, as it names itself. Both fields are
// external text and may be empty.
type Client struct{ Name, Version string }

// Use records the first requests made with a key in this process, so that the
// page of a new key shows when its client connects. It is safe for concurrent
// use, and its methods take no lock. A nil *Use records nothing.
type Use struct {
	first  [stages]atomic.Pointer[Step]
	client atomic.Pointer[Client]
}

// Pending reports whether Record would store a step of the stage.
func (u *Use) Pending(stage Stage) bool { return u != nil && u.first[stage].Load() == nil }

// Record stores the first step of a stage. It ignores later ones.
func (u *Use) Record(stage Stage, step Step) {
	if u.Pending(stage) {
		u.first[stage].CompareAndSwap(nil, &step)
	}
}

// RecordClient stores the first client that names itself.
func (u *Use) RecordClient(client Client) {
	if u != nil && client.Name != "" && u.client.Load() == nil {
		u.client.CompareAndSwap(nil, &client)
	}
}

// First returns the first step of a stage, or nil.
func (u *Use) First(stage Stage) *Step {
	if u == nil {
		return nil
	}
	return u.first[stage].Load()
}

// Client returns the client that uses the key, or the zero Client.
func (u *Use) Client() Client {
	if u == nil {
		return Client{}
	}
	if client := u.client.Load(); client != nil {
		return *client
	}
	return Client{}
}
