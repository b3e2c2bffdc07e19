package views_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReplacedTextsAreGone reads the texts of every page and compares them, as a
// whole, with those that plainer ones have replaced.
func TestReplacedTextsAreGone(t *testing.T) {
	list, err := os.ReadFile("testdata/replaced.txt")
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]bool{}
	for text := range strings.Lines(string(list)) {
		replaced[strings.TrimSpace(text)] = true
	}
	seen := 0
	for _, root := range []string{".", "../routes"} {
		err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_templ.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".templ") {
				return err
			}
			content, err := os.ReadFile(root + "/" + path)
			if err != nil {
				return err
			}
			for _, text := range texts(content, strings.HasSuffix(path, ".templ")) {
				seen++
				if replaced[text] {
					t.Errorf("%s/%s has %q", root, path, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 2_000 || len(replaced) < 400 {
		t.Errorf("read %d texts and %d replaced ones", seen, len(replaced))
	}
}

var textNode = regexp.MustCompile(`>([^<>{}]+)<`)

// texts returns the string literals of a source, and the texts of its elements.
func texts(source []byte, templ bool) (all []string) {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(source)), source, func(token.Position, string) {}, 0)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		if text, err := strconv.Unquote(literal); kind == token.STRING && err == nil {
			all = append(all, strings.TrimSpace(text))
		}
	}
	if templ {
		for _, found := range textNode.FindAllSubmatch(source, -1) {
			all = append(all, strings.Join(strings.Fields(string(found[1])), " "))
		}
		for line := range strings.Lines(string(source)) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}
