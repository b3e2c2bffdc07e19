package stage

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

const (
	// GatewayPackage is the import path of the gateway command.
	GatewayPackage = "mcpgateway/cmd/gateway"
	buildLimit     = 10 * time.Minute
)

// Build builds a command of this module or of a required module with the flags of
// a release. It returns the path of the binary in folder.
func Build(ctx context.Context, folder, name, pkg string) (string, error) {
	binary := filepath.Join(folder, name)
	_, err := Must(ctx, Program{
		Name: "go build " + pkg, Path: "go", Args: []string{"build", "-trimpath", "-o", binary, pkg},
		Env: append(os.Environ(), "CGO_ENABLED=0"),
	}, buildLimit)
	return binary, err
}
