package sources

import (
	"fmt"
	"unicode/utf8"
)

// limited is a list of a row with its limits.
type limited struct {
	member     string
	list       []string
	items      int
	characters int // of each item
}

// check returns an error that names the member for a list or an item that exceeds
// the limits.
func (l limited) check() error {
	if len(l.list) > l.items {
		return fmt.Errorf("%s has %d items; the maximum is %d", l.member, len(l.list), l.items)
	}
	for n, s := range l.list {
		if length := utf8.RuneCountInString(s); length > l.characters {
			return fmt.Errorf("%s[%d] has %d characters; the maximum is %d", l.member, n, length, l.characters)
		}
	}
	return nil
}

func checkLists(lists []limited) error {
	for _, l := range lists {
		if err := l.check(); err != nil {
			return err
		}
	}
	return nil
}

// named returns an error for an empty text, and for one that is too long to be a
// name: a part of a name is another name.
func named(member, text string, most int) error {
	if Clean(text, most) == "" {
		return fmt.Errorf("%s must not be empty", member)
	}
	if length := utf8.RuneCountInString(text); length > most {
		return fmt.Errorf("%s has %d characters; the maximum is %d", member, length, most)
	}
	return nil
}

// checkMembers returns an error for lists of a server that exceed the limits, and for
// packages, arguments, variables and tools without a name.
func (i *item) checkMembers() error {
	lists := []limited{{"tags", i.Tags, maxTags, maxTag}, {"secretEnv", i.SecretEnv, maxSecrets, maxSecret}, {"toolNames", i.ToolNames, maxTools, maxTool}}
	if err := checkLists(lists); err != nil {
		return err
	}
	for _, l := range []struct {
		member      string
		items, most int
	}{{"packages", len(i.Packages), maxPackages}, {"env", len(i.Env), maxSecrets}, {"tools", len(i.Tools), maxTools}} {
		if l.items > l.most {
			return fmt.Errorf("%s has %d items; the maximum is %d", l.member, l.items, l.most)
		}
	}
	if i.PackageType != "" && len(i.Packages) == 0 || i.PackageIdentifier != "" {
		if err := named("packageIdentifier", i.PackageIdentifier, maxShort); err != nil {
			return err
		}
	}
	for n, p := range i.Packages {
		member := fmt.Sprintf("packages[%d].", n)
		if err := named(member+"identifier", p.Identifier, maxShort); err != nil {
			return err
		}
		if err := (limited{member + "args", p.Args, maxPackageArgs, maxShort}).check(); err != nil {
			return err
		}
		for at, word := range p.Args {
			if err := named(fmt.Sprintf("%sargs[%d]", member, at), word, maxShort); err != nil {
				return err
			}
		}
	}
	for n, v := range i.Env {
		if err := named(fmt.Sprintf("env[%d].name", n), v.Name, maxSecret); err != nil {
			return err
		}
	}
	for n, t := range i.Tools {
		if err := named(fmt.Sprintf("tools[%d].name", n), t.Name, maxTool); err != nil {
			return err
		}
	}
	return nil
}

// checkMembers returns an error for lists of a template that exceed the limits.
func (i *templateItem) checkMembers() error {
	return checkLists([]limited{{"tags", i.Tags, maxTags, maxTag}, {"relatedServerNames", i.RelatedServerNames, maxRelated, MaxName}, {"steps", i.Steps, maxSteps, maxStep}})
}
