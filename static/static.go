// Package static holds the bytes that are served as they are, under addresses
// that change with their content.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"regexp"
	"sync"
)

//go:embed css js fonts/*.woff2 vendor/htmx.min.js icons.svg favicon.ico apple-touch-icon.png og.png
var files embed.FS

// hashLength is the number of hex digits of a file's SHA-256 in its URL.
const hashLength = 12

// The joined files: pages load one stylesheet and one script each, which are
// written in several files. The first file of each declares what the others use;
// the others follow by name.
var joined = map[string]struct{ folder, first string }{
	"css/app.css": {"css", "base.css"},
	"js/app.js":   {"js", "page.js"},
}

// asset is a served file.
type asset struct {
	content []byte
	url     string
}

// assets are the served files by name.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	add := func(name string, content []byte) {
		all[name] = asset{content, path.Join("/static", hash(content), name)}
	}
	_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if folder := path.Dir(name); folder != "css" && folder != "js" {
			content, err := files.ReadFile(name)
			add(name, content)
			return err
		}
		return nil
	})
	for name, parts := range joined {
		content := join(parts.folder, parts.first)
		if name == "css/app.css" {
			content = compact(linked(content, all))
		} else {
			content = remark.ReplaceAll(content, nil)
		}
		add(name, content)
	}
	return all
})

// join returns the files of a folder in one.
func join(folder, first string) []byte {
	var all bytes.Buffer
	write := func(name string) {
		content, _ := files.ReadFile(path.Join(folder, name)) // an embedded file
		all.Write(content)
	}
	write(first)
	entries, _ := files.ReadDir(folder)
	for _, entry := range entries {
		if entry.Name() != first {
			write(entry.Name())
		}
	}
	return all.Bytes()
}

var relativeURL = regexp.MustCompile(`url\("\.\./([^"]+)"\)`)

// linked returns a stylesheet with the addresses of the files that it names.
func linked(css []byte, all map[string]asset) []byte {
	return relativeURL.ReplaceAllFunc(css, func(found []byte) []byte {
		return []byte(`url("` + all[string(relativeURL.FindSubmatch(found)[1])].url + `")`)
	})
}

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	spaces  = regexp.MustCompile(`\s+`)
	around  = regexp.MustCompile(` ?([{};]) ?|([:,]) `)
	remark  = regexp.MustCompile(`(?m)^\s*(?://.*|/\*\*.*\*/)\n`)
)

// compact returns a stylesheet without comments and needless white space. Strings
// in it have neither punctuation nor several spaces.
func compact(css []byte) []byte {
	css = spaces.ReplaceAll(comment.ReplaceAll(css, nil), []byte(" "))
	return around.ReplaceAll(css, []byte("$1$2"))
}

// URL returns the address of a file, such as "css/app.css". It is empty for a
// file that does not exist.
func URL(name string) string { return assets()[name].url }

// Open returns the file called name when its address carries the hash of its
// present content; ok is false otherwise.
func Open(hashed, name string) (content []byte, ok bool) {
	file, ok := assets()[path.Clean(name)]
	if !ok || file.url != path.Join("/static", hashed, path.Clean(name)) {
		return nil, false
	}
	return file.content, true
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:hashLength]
}
