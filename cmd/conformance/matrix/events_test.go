//go:build conformance

package matrix

import (
	"bufio"
	"bytes"
	"io"
	"iter"
)

// events yields the data of each event of a stream (WHATWG HTML, section 9.2.6), and
// finally the read error, if any. The data is valid until the next event.
func events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 4096), maxAnswerBytes)
		var data []byte
		has := false
		for lines.Scan() {
			line := lines.Bytes() // without its end, CR LF included
			if value, found := bytes.CutPrefix(line, []byte("data:")); found {
				if has {
					data = append(data, '\n')
				}
				data, has = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
				continue
			}
			if len(line) > 0 || !has {
				continue
			}
			if len(data) > 0 && !yield(data, nil) {
				return
			}
			data, has = data[:0], false
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}
