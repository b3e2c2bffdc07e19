package activity

import "context"

// ActorKind is the kind of an actor.
type ActorKind string

// The kinds of actors.
const (
	ActorUser   ActorKind = "user"   // a signed-in user
	ActorToken  ActorKind = "token"  // the administration token
	ActorCLI    ActorKind = "cli"    // a command on the host
	ActorClient ActorKind = "client" // an MCP client, or an unauthenticated user
	ActorSystem ActorKind = "system" // the gateway itself
)

// Actor is the actor of an audit entry.
type Actor struct {
	Kind      ActorKind
	ID        string
	Name      string
	IP        string
	RequestID string
}

type actorKey struct{}

// WithActor returns a context with the actor of its changes.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context. Without one it is the gateway itself.
func ActorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{Kind: ActorSystem}
}
