package secrets_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func TestTokenOpensForItsPurposeWithAnyKey(t *testing.T) {
	plain := []byte("session 42")
	before := ring(t, "old:"+key(1, 32))
	token := before.SealToken("session", plain)
	both := ring(t, "new:"+key(2, 32)+",old:"+key(1, 32))
	for name, r := range map[string]*secrets.KeyRing{"same ring": before, "old key second": both} {
		if got, err := r.OpenToken("session", token); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %q (%v)", name, got, err)
		}
		if got, err := r.OpenToken("cursor", token); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("%s: OpenToken() for another purpose = %q, %v", name, got, err)
		}
	}
	if got, err := before.OpenToken("session", both.SealToken("session", plain)); err == nil {
		t.Errorf("OpenToken() without the active key = %q", got)
	}
	if before.SealToken("session", plain) == token {
		t.Error("two tokens of a text are equal")
	}
}

func TestTokenIsCompactAndURLSafe(t *testing.T) {
	r := ring(t, "a:"+key(1, 32))
	for _, size := range []int{0, 1, 2, 3, 100} {
		token := r.SealToken("session", make([]byte, size))
		if want := base64.RawURLEncoding.EncodedLen(33 + size); len(token) != want {
			t.Errorf("token of %d bytes has %d characters, want %d", size, len(token), want)
		}
		for _, c := range token {
			if !bytes.ContainsRune([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), c) {
				t.Errorf("token %q contains %q", token, c)
			}
		}
	}
}

func TestPurposesBeyondCacheWork(t *testing.T) {
	r := ring(t, "a:"+key(1, 32))
	var wg sync.WaitGroup
	for i := range 130 {
		wg.Go(func() {
			purpose := fmt.Sprint("purpose ", i%65)
			if got, err := r.OpenToken(purpose, r.SealToken(purpose, []byte(purpose))); err != nil || string(got) != purpose {
				t.Errorf("%s: %q (%v)", purpose, got, err)
			}
		})
	}
	wg.Wait()
}

func TestInvalidTokens(t *testing.T) {
	r := ring(t, "a:"+key(1, 32))
	token := r.SealToken("session", []byte("x"))
	for _, s := range []string{"", "A", "????", token + "A", token + "=", token + "\n", "\n" + token, token[1:], token[:len(token)-1], " " + token} {
		if got, err := r.OpenToken("session", s); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("OpenToken(%q) = %q, %v", s, got, err)
		}
	}
}

func TestTokenRoundTripAndTampering(t *testing.T) {
	r := ring(t, "new:"+key(2, 32)+",old:"+key(1, 32))
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		purpose := rapid.SampledFrom([]string{"session", "cursor", ""}).Draw(t, "purpose")
		token := r.SealToken(purpose, plain)
		if got, err := r.OpenToken(purpose, token); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("OpenToken() = %x, %v", got, err)
		}
		i := rapid.IntRange(0, len(token)-1).Draw(t, "position")
		changed := []byte(token)
		changed[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if got, err := r.OpenToken(purpose, string(changed)); err == nil {
			t.Fatalf("OpenToken() of a changed token = %x", got)
		}
	})
}

func BenchmarkOpenToken(b *testing.B) {
	r := ring(b, "new:"+key(2, 32)+",old:"+key(1, 32))
	token := r.SealToken("session", make([]byte, 64))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.OpenToken("session", token); err != nil {
			b.Fatal(err)
		}
	}
}
