package measure

import (
	"bytes"
	"fmt"
	"os"
)

// markers returns the marker lines around the report of a name in a file.
func markers(name string) (begin, end string) {
	return "<!-- " + name + ": begin -->", "<!-- " + name + ": end -->"
}

// Replace returns document with text between the two marker lines of a name. It returns an
// error if a marker is missing, repeated or out of order.
func Replace(document []byte, name string, text []byte) ([]byte, error) {
	begin, end := markers(name)
	for _, marker := range []string{begin, end} {
		if n := bytes.Count(document, []byte(marker+"\n")); n != 1 {
			return nil, fmt.Errorf("marker line %s occurs %d times, want once", marker, n)
		}
	}
	from := bytes.Index(document, []byte(begin+"\n")) + len(begin) + 1
	to := bytes.Index(document, []byte(end+"\n"))
	if to < from {
		return nil, fmt.Errorf("marker line %s precedes %s", end, begin)
	}
	out := append([]byte(nil), document[:from]...)
	out = append(out, bytes.TrimSpace(text)...)
	out = append(out, '\n')
	return append(out, document[to:]...), nil
}

// CheckFile returns the error that ReplaceInFile would return for the markers of a
// name in a file.
func CheckFile(file, name string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err := Replace(document, name, nil); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// ReplaceInFile replaces the text between the two marker lines of a name in a file.
func ReplaceInFile(file, name string, text []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := Replace(document, name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, replaced, info.Mode().Perm())
}
