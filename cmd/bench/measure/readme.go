package measure

import (
	"bytes"
	"fmt"
	"os"
)

// The lines between which a file's report stands.
const (
	begin = "<!-- bench: begin -->"
	end   = "<!-- bench: end -->"
)

// Replace returns document with text between its two marker lines instead of
// what stands there. The error says which marker is missing or stands twice.
func Replace(document, text []byte) ([]byte, error) {
	for _, marker := range []string{begin, end} {
		if n := bytes.Count(document, []byte(marker+"\n")); n != 1 {
			return nil, fmt.Errorf("the line %s stands %d times in the file, not once", marker, n)
		}
	}
	from := bytes.Index(document, []byte(begin+"\n")) + len(begin) + 1
	to := bytes.Index(document, []byte(end+"\n"))
	if to < from {
		return nil, fmt.Errorf("the line %s stands before %s", end, begin)
	}
	out := append([]byte(nil), document[:from]...)
	out = append(out, bytes.TrimSpace(text)...)
	out = append(out, '\n')
	return append(out, document[to:]...), nil
}

// CheckFile returns why ReplaceInFile could not write into a file, or nil.
func CheckFile(file string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err := Replace(document, nil); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// ReplaceInFile writes text between the two marker lines of a file.
func ReplaceInFile(file string, text []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := Replace(document, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, replaced, info.Mode().Perm())
}
