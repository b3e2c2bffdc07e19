package entry

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/joho/godotenv"
)

// base are the variables of the runner that every program gets, with those that
// start with LC_.
var base = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "XDG_CACHE_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
}

// own is the prefix of the gateway's own variables, which programs never get.
const own = "GATEWAY_"

// Environment are the variables of the runner by name.
type Environment map[string]string

// NewEnvironment returns the variables of a list such as os.Environ.
func NewEnvironment(list []string) Environment {
	e := make(Environment, len(list))
	for _, one := range list {
		if name, value, ok := strings.Cut(one, "="); ok && name != "" {
			e[name] = value
		}
	}
	return e
}

// Program is an entry whose references are replaced.
type Program struct {
	Program  string // as written, or absolute if it started with ~/
	Args     []string
	Env      []string // the whole environment, sorted
	Dir      string   // absolute
	Writable []string // absolute; nil means all
}

// Unset is the problem of a reference to a variable that the runner lacks.
type Unset struct{ Key, Name string }

// editors are names that editors replace in their own files.
var editors = []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"}

func (u *Unset) Error() string {
	if slices.Contains(editors, u.Name) {
		return fmt.Sprintf("%s has ${%s}, which only editors replace: write the value, or set the variable %s before the start", u.Key, u.Name, u.Name)
	}
	return fmt.Sprintf("%s needs the variable %s, which is not set: set it before the start", u.Key, u.Name)
}

// Resolve replaces the references of a command: ${NAME}, ${env:NAME} and
// ${NAME:-text} in arguments, variables and the directory, and a leading ~/.
// readFile returns the content of the envFile, whose variables those of env
// override. It returns the error of the first problem, *Unset for a missing
// variable.
func (c *Command) Resolve(from Environment, readFile func(path string) ([]byte, error)) (*Program, error) {
	home := from["HOME"]
	p := &Program{Program: inHome(home, c.Program), Dir: home}
	for i, arg := range c.Args {
		value, err := from.expand(fmt.Sprintf("args[%d]", i), arg)
		if err != nil {
			return nil, err
		}
		p.Args = append(p.Args, value)
	}
	if c.Dir != "" {
		dir, err := from.expand("cwd", inHome(home, c.Dir))
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("cwd must be absolute or start with ~/")
		}
		p.Dir = dir
	}
	for _, dir := range c.Writable {
		if dir = inHome(home, dir); !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("sandbox.write must contain absolute paths, or those that start with ~/")
		}
		p.Writable = append(p.Writable, dir)
	}
	if c.Writable != nil && p.Writable == nil {
		p.Writable = []string{}
	}
	env, err := c.environment(from, home, readFile)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		p.Env = append(p.Env, name+"="+env[name])
	}
	return p, nil
}

// environment returns the variables of the program.
func (c *Command) environment(from Environment, home string, readFile func(string) ([]byte, error)) (map[string]string, error) {
	env := map[string]string{}
	for name, value := range from {
		if slices.Contains(base, name) || strings.HasPrefix(name, "LC_") {
			env[name] = value
		}
	}
	if c.EnvFile != "" {
		raw, err := readFile(inHome(home, c.EnvFile))
		if err != nil {
			return nil, fmt.Errorf("envFile: %w", err)
		}
		values, err := godotenv.UnmarshalBytes(raw)
		if err != nil {
			return nil, fmt.Errorf("envFile is not a list of NAME=value lines")
		}
		maps.Copy(env, values)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		value, err := from.expand("env."+name, c.Env[name])
		if err != nil {
			return nil, err
		}
		env[name] = value
	}
	for name, value := range env {
		switch {
		case strings.HasPrefix(name, own):
			return nil, fmt.Errorf("the variable %s is reserved: programs get no variable that starts with %s", name, own)
		case len(value) > MaxValue:
			return nil, fmt.Errorf("the variable %s has more than %d bytes", name, MaxValue)
		}
	}
	return env, nil
}

var reference = regexp.MustCompile(`\$\{([^{}]*)\}`)

// plainName matches the names of variables that references can have.
var plainName = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`)

// expand replaces the references in a value of a key.
func (e Environment) expand(key, value string) (string, error) {
	var problem error
	text := reference.ReplaceAllStringFunc(value, func(found string) string {
		inner := found[2 : len(found)-1]
		if strings.HasPrefix(inner, "input:") {
			problem = fmt.Errorf("%s asks for %s: put the value into a variable and write ${NAME}", key, found)
			return ""
		}
		name, otherwise, hasDefault := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
		switch {
		case !plainName.MatchString(name):
			problem = fmt.Errorf("%s has %s: write ${NAME}", key, found)
			return ""
		case strings.HasPrefix(name, own):
			problem = fmt.Errorf("%s has %s: variables that start with %s are not for programs", key, found, own)
			return ""
		}
		set, ok := e[name]
		switch {
		case ok && (set != "" || !hasDefault):
			return set
		case hasDefault:
			return otherwise
		}
		problem = &Unset{Key: key, Name: name}
		return ""
	})
	return text, problem
}

func inHome(home, path string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}
