package demo

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpgateway/services/upstream/upstreamtest"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// TextTools returns the options of a demo server for texts.
func TextTools() upstreamtest.Options {
	return upstreamtest.Options{
		Name:         "text",
		Instructions: "Counts, converts, encodes, hashes and compares texts exactly, which language models do poorly.",
		Tools: []upstreamtest.Tool{
			{Definition: defCountText, Call: typed(countText)},
			{Definition: defChangeCase, Call: typed(changeCase)},
			{Definition: defBase64, Call: typed(convertBase64)},
			{Definition: defHash, Call: typed(hashText)},
			{Definition: defDiff, Call: typed(diffText)},
			{Definition: defReplace, Call: typed(replaceText)},
		},
	}
}

const (
	textProperty = `"text":{"type":"string","description":"Input text."}`
	pureText     = `"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`
	textResult   = `"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},`

	defCountText = `{"name":"count_text","title":"Count text","description":"Counts characters, bytes, words, lines and sentences of a text exactly.","inputSchema":{"type":"object","properties":{` + textProperty + `},"required":["text"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"characters":{"type":"integer"},"bytes":{"type":"integer"},"words":{"type":"integer"},"lines":{"type":"integer"},"sentences":{"type":"integer"}},"required":["characters","bytes","words","lines","sentences"]},` + pureText

	defChangeCase = `{"name":"change_case","title":"Change case","description":"Converts a text to another case: upper, lower, title, or an identifier in camel, pascal, snake, kebab or constant case.","inputSchema":{"type":"object","properties":{` + textProperty + `,"case":{"type":"string","enum":["upper","lower","title","camel","pascal","snake","kebab","constant"]}},"required":["text","case"],"additionalProperties":false},` + textResult + pureText

	defBase64 = `{"name":"base64","title":"Base64","description":"Encodes text as Base64 or decodes Base64 to text, with the standard or the URL-safe alphabet.","inputSchema":{"type":"object","properties":{` + textProperty + `,"direction":{"type":"string","enum":["encode","decode"]},"urlSafe":{"type":"boolean","default":false}},"required":["text","direction"],"additionalProperties":false},` + textResult + pureText

	defHash = `{"name":"hash_text","title":"Hash text","description":"Calculates the hexadecimal hash of the UTF-8 bytes of a text.","inputSchema":{"type":"object","properties":{` + textProperty + `,"algorithm":{"type":"string","enum":["sha256","sha384","sha512"],"default":"sha256"}},"required":["text"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"algorithm":{"type":"string"},"hash":{"type":"string"}},"required":["algorithm","hash"]},` + pureText

	defDiff = `{"name":"diff_text","title":"Compare texts","description":"Compares two texts line by line and returns the removed, added and unchanged lines in the format of diff.","inputSchema":{"type":"object","properties":{"before":{"type":"string"},"after":{"type":"string"}},"required":["before","after"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"equal":{"type":"boolean"},"added":{"type":"integer"},"removed":{"type":"integer"},"diff":{"type":"string"}},"required":["equal","added","removed","diff"]},` + pureText

	defReplace = `{"name":"replace_text","title":"Replace text","description":"Replaces every occurrence of a literal string and returns the number of replacements.","inputSchema":{"type":"object","properties":{` + textProperty + `,"find":{"type":"string","minLength":1},"replacement":{"type":"string"}},"required":["text","find","replacement"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"},"replaced":{"type":"integer"}},"required":["text","replaced"]},` + pureText
)

type textInput struct {
	Text string `json:"text"`
}

type textOutput struct {
	Text string `json:"text"`
}

type counts struct {
	Characters int `json:"characters"`
	Bytes      int `json:"bytes"`
	Words      int `json:"words"`
	Lines      int `json:"lines"`
	Sentences  int `json:"sentences"`
}

func countText(in textInput) (counts, error) {
	c := counts{Characters: utf8.RuneCountInString(in.Text), Bytes: len(in.Text), Words: len(strings.Fields(in.Text)), Lines: len(lines(in.Text))}
	open := false // inside a sentence
	for _, r := range in.Text {
		switch {
		case strings.ContainsRune(".!?\u3002\uff01\uff1f\u2026", r):
			if open {
				c.Sentences++
			}
			open = false
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			open = true
		}
	}
	if open {
		c.Sentences++
	}
	return c, nil
}

// lines splits a text into lines. A final line break doesn't start another line.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	s = strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	return strings.Split(s, "\n")
}

type caseInput struct {
	Text string `json:"text"`
	Case string `json:"case"`
}

func changeCase(in caseInput) (textOutput, error) {
	switch in.Case {
	case "upper":
		return textOutput{cases.Upper(language.Und).String(in.Text)}, nil
	case "lower":
		return textOutput{cases.Lower(language.Und).String(in.Text)}, nil
	case "title":
		return textOutput{cases.Title(language.Und).String(in.Text)}, nil
	}
	words := identifierWords(in.Text)
	separator := ""
	switch in.Case {
	case "snake", "constant":
		separator = "_"
	case "kebab":
		separator = "-"
	case "camel", "pascal":
	default:
		return textOutput{}, fmt.Errorf("unknown case %q: use upper, lower, title, camel, pascal, snake, kebab or constant", in.Case)
	}
	for i, w := range words {
		switch {
		case in.Case == "constant":
			words[i] = strings.ToUpper(w)
		case in.Case == "pascal", in.Case == "camel" && i > 0:
			r, size := utf8.DecodeRuneInString(w)
			words[i] = string(unicode.ToUpper(r)) + w[size:]
		}
	}
	return textOutput{strings.Join(words, separator)}, nil
}

// identifierWords splits a text into words in lower case: at characters other than
// letters and digits, before a capital after a small letter, and before the last
// of several capitals if a small letter follows it.
func identifierWords(s string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(s)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && len(word) > 0 {
			previous := word[len(word)-1]
			nextIsLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(previous) || nextIsLower {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}

type base64Input struct {
	Text      string `json:"text"`
	Direction string `json:"direction"`
	URLSafe   bool   `json:"urlSafe"`
}

func convertBase64(in base64Input) (textOutput, error) {
	encoding := base64.StdEncoding
	if in.URLSafe {
		encoding = base64.URLEncoding
	}
	switch in.Direction {
	case "encode":
		return textOutput{encoding.EncodeToString([]byte(in.Text))}, nil
	case "decode":
		raw, err := encoding.WithPadding(base64.NoPadding).DecodeString(strings.TrimRight(strings.TrimSpace(in.Text), "="))
		if err != nil {
			return textOutput{}, fmt.Errorf("text is not Base64: %w", err)
		}
		if !utf8.Valid(raw) {
			return textOutput{}, errors.New("decoded bytes are not UTF-8")
		}
		return textOutput{string(raw)}, nil
	}
	return textOutput{}, errors.New("direction must be encode or decode")
}

type hashInput struct {
	Text      string `json:"text"`
	Algorithm string `json:"algorithm"`
}

type hashOutput struct {
	Algorithm string `json:"algorithm"`
	Hash      string `json:"hash"`
}

func hashText(in hashInput) (hashOutput, error) {
	var h hash.Hash
	switch in.Algorithm {
	case "", "sha256":
		in.Algorithm, h = "sha256", sha256.New()
	case "sha512":
		h = sha512.New()
	case "sha384":
		h = sha512.New384()
	default:
		return hashOutput{}, fmt.Errorf("unknown algorithm %q: use sha256, sha384 or sha512", in.Algorithm)
	}
	h.Write([]byte(in.Text))
	return hashOutput{in.Algorithm, hex.EncodeToString(h.Sum(nil))}, nil
}

// maxTextBytes is the maximum size of a text after replacement.
const maxTextBytes = 32 << 20

type replaceInput struct {
	Text        string `json:"text"`
	Find        string `json:"find"`
	Replacement string `json:"replacement"`
}

type replaceOutput struct {
	Text     string `json:"text"`
	Replaced int    `json:"replaced"`
}

func replaceText(in replaceInput) (replaceOutput, error) {
	if in.Find == "" {
		return replaceOutput{}, errors.New("find must not be empty")
	}
	n := strings.Count(in.Text, in.Find)
	if len(in.Text)+n*(len(in.Replacement)-len(in.Find)) > maxTextBytes {
		return replaceOutput{}, fmt.Errorf("result too large: the limit is %d MiB", maxTextBytes>>20)
	}
	return replaceOutput{strings.ReplaceAll(in.Text, in.Find, in.Replacement), n}, nil
}

type diffInput struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

type diffOutput struct {
	Equal   bool   `json:"equal"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Diff    string `json:"diff"`
}

// maxDiffCells is the maximum size of the comparison table: the product of the
// numbers of differing lines, each plus one.
const maxDiffCells = 4_000_000

// diffText compares lines by their longest common subsequence.
func diffText(in diffInput) (diffOutput, error) {
	a, b := lines(in.Before), lines(in.After)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if (len(x)+1)*(len(y)+1) > maxDiffCells {
		return diffOutput{}, errors.New("too many differing lines: compare smaller parts")
	}
	width := len(y) + 1
	common := make([]int32, (len(x)+1)*width) // length of the common subsequence of x[i:] and y[j:]
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	var out diffOutput
	var d strings.Builder
	line := func(mark, s string) { d.WriteString(mark + s + "\n") }
	for _, s := range a[:head] {
		line(" ", s)
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			line(" ", x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[(i+1)*width+j] >= common[i*width+j+1]:
			line("-", x[i])
			out.Removed++
			i++
		default:
			line("+", y[j])
			out.Added++
			j++
		}
	}
	for _, s := range a[len(a)-tail:] {
		line(" ", s)
	}
	out.Equal, out.Diff = out.Added+out.Removed == 0, d.String()
	return out, nil
}
