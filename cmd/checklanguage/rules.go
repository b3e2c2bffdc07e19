package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed rules.txt
var ruleTable string

// rule is a pattern of wording to replace. A match of except is allowed.
type rule struct {
	scopes  string // of parts
	example string // a text that matches
	pattern *regexp.Regexp
	except  *regexp.Regexp // may be nil
	advice  string
}

// parseRules reads the format that rules.txt describes.
func parseRules(table string) ([]rule, error) {
	var rules []rule
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 5 {
			return nil, fmt.Errorf("rules.txt:%d: %d columns, want 5", i+1, len(fields))
		}
		r := rule{scopes: fields[0], example: fields[1], advice: fields[4]}
		var err error
		if r.pattern, err = regexp.Compile(fields[2]); err != nil {
			return nil, fmt.Errorf("rules.txt:%d: %w", i+1, err)
		}
		if fields[3] != "-" {
			if r.except, err = regexp.Compile(fields[3]); err != nil {
				return nil, fmt.Errorf("rules.txt:%d: %w", i+1, err)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}
