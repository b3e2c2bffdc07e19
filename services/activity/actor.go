package activity

import "context"

// ActorKind says in which way somebody acts.
type ActorKind string

// The kinds of actors.
const (
	ActorUser   ActorKind = "user"   // a signed-in person
	ActorToken  ActorKind = "token"  // the administration token
	ActorCLI    ActorKind = "cli"    // a command on the machine
	ActorClient ActorKind = "client" // an MCP client or somebody who is not signed in
	ActorSystem ActorKind = "system" // the gateway itself
)

// Actor is who acts, as the audit log records it.
type Actor struct {
	Kind      ActorKind
	ID        string
	Name      string
	IP        string
	RequestID string
}

type actorKey struct{}

// WithActor returns a context whose changes are recorded as the actor's.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context; without one the gateway itself acts.
func ActorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{Kind: ActorSystem}
}
