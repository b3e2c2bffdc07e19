package routes_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"mcpgateway/services/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	// Configurations name servers on the internet, which the tests never reach:
	// a lost query to a name server would take 5 seconds.
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("tests have no name server")
	}}
	sandboxtest.Main(m)
}
