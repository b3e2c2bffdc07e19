package keys

import (
	"crypto/sha256"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestKeyFormat(t *testing.T) {
	if bits := keyRandom * math.Log2(62); bits < 170 {
		t.Errorf("key has %.0f random bits, want at least 170", bits)
	}
	form := regexp.MustCompile(`^gwk_[0-9A-Za-z]{36}$`)
	seen, letters := map[string]bool{}, map[rune]bool{}
	for range 500 {
		text := newKeyText().Reveal()
		if !form.MatchString(text) {
			t.Fatalf("%q has an invalid format", text)
		}
		if seen[text] {
			t.Fatalf("%q is not unique", text)
		}
		seen[text] = true
		for _, r := range text[len(keyPrefix) : len(keyPrefix)+keyRandom] {
			letters[r] = true
		}
		if hash, ok := parseKey(text); !ok || hash != sha256.Sum256([]byte(text)) {
			t.Fatalf("parseKey(%q) failed", text)
		}
	}
	if len(letters) != 62 {
		t.Errorf("15000 random characters have %d distinct ones, want 62", len(letters))
	}
}

func TestParseKnownKey(t *testing.T) {
	// CRC-32 (IEEE) of "gwk_" and thirty zeros, in six base62 digits.
	const known = "gwk_000000000000000000000000000000" + "0s6Pw1"
	if got := "gwk_" + strings.Repeat("0", 30) + checksumOf("gwk_"+strings.Repeat("0", 30)); got != known {
		t.Errorf("key with checksum = %q, want %q", got, known)
	}
}

func TestChangedCharactersAreRejected(t *testing.T) {
	text := newKeyText().Reveal()
	for i := range text {
		for _, c := range []byte(base62 + "_-+/ \x00") {
			if c == text[i] {
				continue
			}
			changed := text[:i] + string(c) + text[i+1:]
			if _, ok := parseKey(changed); ok {
				t.Fatalf("%q is accepted as a key after a change of %q", changed, text)
			}
		}
	}
}

func TestInvalidKeysAreRejected(t *testing.T) {
	key := newKeyText().Reveal()
	body := "gwx_" + key[4:keyLength-keyChecksum]
	for name, text := range map[string]string{
		"empty":          "",
		"prefix alone":   "gwk_",
		"too short":      key[:len(key)-1],
		"too long":       key + "0",
		"space in front": " " + key,
		"newline behind": key + "\n",
		"other prefix":   body + checksumOf(body),
		"upper-case":     strings.ToUpper(key[:4]) + key[4:],
		"two keys":       key + key,
		"swapped halves": "gwk_" + key[22:] + key[4:22],
		"foreign token":  "ghp_" + strings.Repeat("a", 36),
	} {
		if _, ok := parseKey(text); ok {
			t.Errorf("%s: %q is accepted as a key", name, text)
		}
	}
}

func checksumOf(body string) string {
	sum := checksum(body)
	return string(sum[:])
}
