package entry

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/nearest"
	"mcpgateway/services/rawjson"
)

// keys are the keys of an entry that only programs have.
var keys = []string{"command", "args", "env", "envFile", "cwd", "start", "idleTimeout", "startTimeout", "maxProcesses", "memory", "files", "roots", "sandbox"}

// Keys returns the keys that only programs have.
func Keys() []string { return slices.Clone(keys) }

// IsProgram reports whether a server of a file is a program rather than a URL.
func IsProgram(o *rawjson.Object) bool { return o.Get("command") != nil }

// Parse returns the entry of a server that is a program. Mistakes in its values
// are the entry's problem, so that they affect no other entry. Keys that are not
// of programs are for the caller.
func Parse(name string, o *rawjson.Object) *Entry {
	p := &parser{object: o, entry: &Entry{Name: name}}
	p.command()
	p.settings()
	p.entry.Problem = p.problem
	return p.entry
}

// parser reads the keys of an entry. It keeps the first problem.
type parser struct {
	object  *rawjson.Object
	entry   *Entry
	problem string
}

func (p *parser) fail(format string, args ...any) {
	if p.problem == "" {
		p.problem = fmt.Sprintf(format, args...)
	}
}

func (p *parser) command() {
	c := &p.entry.Command
	c.Program = p.text("command", "")
	if strings.TrimSpace(c.Program) == "" {
		p.fail("command must name a program")
	}
	c.Args = p.texts("args", p.object.Get("args"))
	if len(c.Args) > MaxArgs {
		p.fail("args has more than %d elements", MaxArgs)
	}
	c.Env = p.env()
	c.EnvFile, c.Dir = p.text("envFile", ""), p.text("cwd", "")
	switch sandbox := p.object.Get("sandbox"); {
	case sandbox == nil:
	case rawjson.Kind(sandbox) != '{':
		p.fail(`sandbox must be an object such as {"write":["~/notes"]}`)
	default:
		o := p.object.Object("sandbox")
		if o == nil {
			p.fail("sandbox is not valid JSON")
			return
		}
		for name := range o.All() {
			if name != "write" {
				p.fail("sandbox.%s is not known: use write", name)
			}
		}
		c.Writable = append([]string{}, p.texts("sandbox.write", o.Get("write"))...)
	}
}

func (p *parser) settings() {
	s := &p.entry.Settings
	s.Start = Start(p.text("start", string(Lazy)))
	if s.Start != Lazy && s.Start != Eager {
		p.fail("start must be lazy or eager")
	}
	s.Roots = p.flag("roots")
	mode := p.text("sessionMode", "shared")
	s.PerClient = mode == "per-client"
	if s.Roots && !s.PerClient {
		p.fail(`roots needs "sessionMode": "per-client", because the roots of one client would replace those of another`)
	}
	processes := int64(4)
	if s.PerClient {
		processes = 10
	}
	s.MaxProcesses = int(p.number("maxProcesses", processes, 1, 100))
	s.Memory = p.number("memory", 2048, 64, 65_536)
	s.Files = uint64(p.number("files", 4096, 64, 65_536))
	s.StartTimeout = time.Duration(p.number("startTimeout", 120_000, 1000, 600_000)) * time.Millisecond
	if string(p.object.Get("idleTimeout")) != "0" {
		s.IdleTimeout = time.Duration(p.number("idleTimeout", 600_000, 10_000, 86_400_000)) * time.Millisecond
	}
}

// text returns a string of the entry, or the default.
func (p *parser) text(key, otherwise string) string {
	raw := p.object.Get(key)
	if raw == nil || rawjson.Kind(raw) == 'n' {
		return otherwise
	}
	s, ok := rawjson.String(raw)
	switch {
	case !ok:
		p.fail("%s must be a string", key)
	case len(s) > MaxValue:
		p.fail("%s has more than %d bytes", key, MaxValue)
	case strings.ContainsRune(s, 0):
		p.fail("%s contains a null character", key)
	default:
		return s
	}
	return otherwise
}

func (p *parser) texts(key string, raw []byte) []string {
	if raw == nil || rawjson.Kind(raw) == 'n' {
		return nil
	}
	elements, err := rawjson.Elements(raw, rawjson.Strict)
	if err != nil {
		p.fail("%s must be a list of strings", key)
		return nil
	}
	list := make([]string, 0, len(elements))
	for i, element := range elements {
		s, ok := rawjson.String(element)
		switch {
		case !ok:
			p.fail("%s[%d] must be a string", key, i)
		case len(s) > MaxValue:
			p.fail("%s[%d] has more than %d bytes", key, i, MaxValue)
		case strings.ContainsRune(s, 0):
			p.fail("%s[%d] contains a null character", key, i)
		}
		list = append(list, s)
	}
	return list
}

// env returns the variables of the entry. Clients also write numbers and
// booleans there.
func (p *parser) env() map[string]string {
	raw := p.object.Get("env")
	if raw == nil || rawjson.Kind(raw) == 'n' {
		return nil
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		p.fail("env must be an object of strings")
		return nil
	}
	if o.Len() > MaxEnv {
		p.fail("env has more than %d variables", MaxEnv)
	}
	env := make(map[string]string, o.Len())
	for name, value := range o.All() {
		s, ok := rawjson.String(value)
		if kind := rawjson.Kind(value); !ok && (kind == 't' || kind == 'f' || rawjson.IsNumber(value)) {
			s, ok = string(value), true
		}
		switch {
		case !ok:
			p.fail("env.%s must be a string", name)
		case !isVariable(name):
			p.fail("env has the name %q: use letters, digits and underscores", name)
		case len(s) > MaxValue:
			p.fail("env.%s has more than %d bytes", name, MaxValue)
		case strings.ContainsRune(s, 0):
			p.fail("env.%s contains a null character", name)
		}
		env[name] = s
	}
	return env
}

// isVariable reports whether a name can be that of a variable in the environment.
func isVariable(name string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00") && len(name) <= 256
}

func (p *parser) flag(key string) bool {
	switch raw := p.object.Get(key); {
	case raw == nil, string(raw) == "false", rawjson.Kind(raw) == 'n':
		return false
	case string(raw) == "true":
		return true
	}
	p.fail("%s must be true or false", key)
	return false
}

// number returns a whole number within the limits, or the default.
func (p *parser) number(key string, otherwise, least, most int64) int64 {
	raw := p.object.Get(key)
	if raw == nil || rawjson.Kind(raw) == 'n' {
		return otherwise
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		p.fail("%s must be a whole number from %d to %d", key, least, most)
		return otherwise
	}
	return int64(n)
}

// Misspelled returns the key of programs that a key of an entry probably stands
// for, or "".
func Misspelled(key string) string { return nearest.Name(key, keys) }
