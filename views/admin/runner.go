package admin

import (
	"net/netip"
	"net/url"
	"strings"
)

// RunnerFile is the name of a runner's file in examples.
const RunnerFile = "servers.json"

// ServeLocal returns the command that runs the programs of the file next to the
// gateway.
func ServeLocal() string { return "gateway serve --local " + RunnerFile }

// ConnectRunner returns the command that runs the programs of the file on another
// computer, for the gateway at the URL. The token is in the file token.
func ConnectRunner(gateway string) string {
	return lines("gateway runner --local "+RunnerFile, append(connection(gateway), "--token-file token")...)
}

// BuildRunner returns the command that builds the image of runners, in the
// directory of the gateway's source.
func BuildRunner() string { return "docker build --target runner --tag gateway-runner ." }

// DockerRunner returns the command that runs the programs of the file in a
// container, for the gateway at the URL. variables are names of environment
// variables that the file refers to.
func DockerRunner(gateway string, variables []string) string {
	options := []string{
		`-v "$PWD/` + RunnerFile + `:/servers.json:ro"`,
		`-v "$PWD/token:/run/secrets/runner:ro"`,
		"-v gateway-runner:/home/node",
	}
	if len(variables) > 0 {
		options = append(options, "-e "+strings.Join(variables, " -e "))
	}
	if u, err := url.Parse(gateway); err == nil && isLoopback(u.Hostname()) {
		options = append(options, "--network host")
	}
	options = append(options, "gateway-runner --local /servers.json")
	return lines("docker run -d --init --restart unless-stopped", append(append(options, connection(gateway)...), "--token-file /run/secrets/runner")...)
}

// connection returns the options that connect a runner to the gateway at the URL.
func connection(gateway string) []string {
	options := []string{"--connect " + gateway}
	if u, err := url.Parse(gateway); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		options = append(options, "--allow-http")
	}
	return options
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// lines returns a command for a shell on several lines.
func lines(first string, rest ...string) string {
	return strings.Join(append([]string{first}, rest...), " \\\n  ")
}
