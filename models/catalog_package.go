package models

import (
	"database/sql/driver"
	"encoding/json"
	"regexp"
	"slices"
)

// CatalogPackage is a package with which a computer can run a server.
type CatalogPackage struct {
	Type       string   `json:"type"` // npm, pypi, oci
	Identifier string   `json:"identifier"`
	Args       []string `json:"args,omitempty"`  // fixed words after the identifier
	Needs      string   `json:"needs,omitempty"` // what users add to the command line, such as "a folder"; may be empty
}

// PackageTypes returns the types of packages that can be run.
func PackageTypes() []string { return []string{"npm", "pypi", "oci"} }

// CatalogVariable is an environment variable that a server reads.
type CatalogVariable struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    *bool  `json:"required,omitempty"` // nil if unknown
	Secret      bool   `json:"secret,omitempty"`
}

// CatalogPackages are the packages of a server, best first, in one text column
// with a JSON array. None are stored as "[]".
type CatalogPackages []CatalogPackage

// CatalogVariables are the variables of a server in one text column with a JSON
// array. None are stored as "[]".
type CatalogVariables []CatalogVariable

// Value returns the packages as JSON text.
func (p CatalogPackages) Value() (driver.Value, error) { return jsonList(p) }

// Scan sets the packages from JSON text, without packages to nil.
func (p *CatalogPackages) Scan(src any) error { return scanList(src, (*[]CatalogPackage)(p)) }

// GormDataType returns the column type for GORM.
func (CatalogPackages) GormDataType() string { return "text" }

// Value returns the variables as JSON text.
func (v CatalogVariables) Value() (driver.Value, error) { return jsonList(v) }

// Scan sets the variables from JSON text, without variables to nil.
func (v *CatalogVariables) Scan(src any) error { return scanList(src, (*[]CatalogVariable)(v)) }

// GormDataType returns the column type for GORM.
func (CatalogVariables) GormDataType() string { return "text" }

func jsonList[T any](list []T) (driver.Value, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

func scanList[T any](src any, list *[]T) error {
	var read []T
	if err := scanJSON(src, &read); err != nil {
		return err
	}
	*list = nil
	if len(read) > 0 {
		*list = read
	}
	return nil
}

// maxIdentifier is the maximum length of the identifier of a package in bytes.
const maxIdentifier = 200

// The grammars of identifiers: npm package names (validate-npm-package-name),
// Python project names (packaging specification, "Names and normalization") and
// image references (distribution, reference.ReferenceRegexp), each with an
// optional version. None matches an option, a path, a URL or the shorthand of a
// repository.
var (
	npmIdentifier  = regexp.MustCompile(`^(@[A-Za-z0-9][A-Za-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*(@[A-Za-z0-9][A-Za-z0-9.+-]*)?$`)
	pypiIdentifier = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?((==|@)[A-Za-z0-9][A-Za-z0-9.+!-]*)?$`)
	ociIdentifier  = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/)?` +
		`[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
	variableName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	packageArgument = regexp.MustCompile(`^[A-Za-z0-9./:=@_+,-]{1,200}$`)
)

// IsVariable reports whether s can be the name of a variable of a program.
func IsVariable(s string) bool { return variableName.MatchString(s) }

// Command returns the program that runs the package, with its arguments, and
// the named variables for an image. It returns nil unless all of them fit their
// grammar, because people copy the command.
func (p CatalogPackage) Command(variables []string) []string {
	fits := func(grammar *regexp.Regexp) bool {
		return len(p.Identifier) <= maxIdentifier && grammar.MatchString(p.Identifier)
	}
	bad := func(s string) bool { return !packageArgument.MatchString(s) }
	if slices.ContainsFunc(p.Args, bad) || slices.ContainsFunc(variables, func(s string) bool { return !IsVariable(s) }) {
		return nil
	}
	var command []string
	switch {
	case p.Type == "npm" && fits(npmIdentifier):
		command = []string{"npx", "-y", p.Identifier}
	case p.Type == "pypi" && fits(pypiIdentifier):
		command = []string{"uvx", p.Identifier}
	case p.Type == "oci" && fits(ociIdentifier):
		command = []string{"docker", "run", "--rm", "-i"}
		for _, name := range variables {
			// Without a value, docker copies the variable from its environment.
			command = append(command, "-e", name)
		}
		command = append(command, p.Identifier)
	default:
		return nil
	}
	return append(command, p.Args...)
}

// AllPackages returns the packages of an entry, best first. Sources of older
// formats name one.
func (e *CatalogEntry) AllPackages() []CatalogPackage {
	if len(e.Packages) > 0 || e.PackageIdentifier == "" {
		return e.Packages
	}
	return []CatalogPackage{{Type: e.PackageType, Identifier: e.PackageIdentifier}}
}

// NeededVariables returns the names of the variables without which a program
// may not work, sorted: the required ones, and secrets that may be required.
func (e *CatalogEntry) NeededVariables() []string {
	names := slices.Clone([]string(e.SecretEnv))
	for _, v := range e.Variables {
		switch {
		case v.Required != nil && *v.Required:
			names = append(names, v.Name)
		case v.Required != nil:
			names = slices.DeleteFunc(names, func(name string) bool { return name == v.Name })
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RunsHere reports whether a computer can run the server with one of its
// packages.
func (e *CatalogEntry) RunsHere() bool {
	variables := e.NeededVariables()
	return slices.ContainsFunc(e.AllPackages(), func(p CatalogPackage) bool { return p.Command(variables) != nil })
}
