package secrets_test

import (
	"bytes"
	"testing"

	"mcpgateway/services/secrets"
)

func TestRandomHash(t *testing.T) {
	text, hash := secrets.Random()
	if got, ok := secrets.RandomHash(text.Reveal()); !ok || !bytes.Equal(got, hash) {
		t.Errorf("RandomHash() = %x, %t, want %x", got, ok, hash)
	}
	other, _ := secrets.Random()
	if got, ok := secrets.RandomHash(other.Reveal()); !ok || bytes.Equal(got, hash) {
		t.Errorf("another text has the hash %x, %t", got, ok)
	}
	valid := text.Reveal()
	for _, malformed := range []string{"", valid[1:], valid + "A", valid[:42] + "=", valid[:41] + "\r\n", valid[:42] + "!"} {
		if _, ok := secrets.RandomHash(malformed); ok {
			t.Errorf("%q has a hash", malformed)
		}
	}
}
