package secrets_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func TestSealOpensOnlyForItsRow(t *testing.T) {
	r := ring(t, "a:"+key(1, 32))
	sealed, err := r.Seal(secrets.NewValue(canary), "servers/1/auth_bearer")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.Open(sealed, "servers/1/auth_bearer"); err != nil || v.Reveal() != canary {
		t.Fatalf("Open() = %q, %v", v.Reveal(), err)
	}
	for _, row := range []string{"servers/2/auth_bearer", "servers/1/oauth_client_secret", "", "servers/1/auth_bearer\x00"} {
		if v, err := r.Open(sealed, row); !fault.Is(err, fault.CodeInternal) || !v.IsZero() {
			t.Errorf("Open() for row %q = %q, %v", row, v.Reveal(), err)
		}
	}
	if _, err := r.Seal(secrets.NewValue(canary), ""); err == nil {
		t.Error("Seal() without a row succeeded")
	}
}

func TestSealFormat(t *testing.T) {
	r := ring(t, "key-1:"+key(1, 32))
	first, err := r.Seal(secrets.NewValue(canary), "row")
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Seal(secrets.NewValue(canary), "row")
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Error("two seals of a secret are equal")
	}
	encoded, ok := strings.CutPrefix(first, "v1:key-1:")
	if !ok {
		t.Fatalf("Seal() = %q", first)
	}
	b, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(b) != 12+len(canary)+16 {
		t.Errorf("%d bytes after the key name (%v), want nonce, text and tag", len(b), err)
	}
}

func TestSealedAndNeedsReseal(t *testing.T) {
	r := ring(t, "new:"+key(2, 32)+",old:"+key(1, 32))
	fresh, err := r.Seal(secrets.NewValue("x"), "row")
	if err != nil {
		t.Fatal(err)
	}
	stale, err := ring(t, "old:"+key(1, 32)).Seal(secrets.NewValue("x"), "row")
	if err != nil {
		t.Fatal(err)
	}
	box := strings.Repeat("A", 38) // 28 bytes in base64
	cases := []struct {
		s             string
		sealed, stale bool
	}{
		{fresh, true, false},
		{stale, true, true},
		{"v1:gone:" + box, true, true},
		{"v1:new:" + box, true, false},
		{"v1:new:" + box[:36], false, false},
		{"v1:new:", false, false},
		{"v1::" + box, false, false},
		{"v1:a b:" + box, false, false},
		{"v2:new:" + box, false, false},
		{"v1:new:" + box + "\n", false, false},
		{"v1:new:" + box + "==", false, false},
		{"v1:new:" + strings.Repeat("!", 40), false, false},
		{"${TOKEN}", false, false},
		{"", false, false},
	}
	for _, c := range cases {
		if got := secrets.Sealed(c.s); got != c.sealed {
			t.Errorf("Sealed(%q) = %v", c.s, got)
		}
		if got := r.NeedsReseal(c.s); got != c.stale {
			t.Errorf("NeedsReseal(%q) = %v", c.s, got)
		}
	}
}

func TestOldKeysOpenUntilRemoved(t *testing.T) {
	before := ring(t, "old:"+key(1, 32))
	sealed, err := before.Seal(secrets.NewValue(canary), "row")
	if err != nil {
		t.Fatal(err)
	}
	both := ring(t, "new:"+key(2, 32)+",old:"+key(1, 32))
	if v, err := both.Open(sealed, "row"); err != nil || v.Reveal() != canary {
		t.Fatalf("Open() with the old key second = %q, %v", v.Reveal(), err)
	}
	resealed, err := both.Reseal(sealed, "row")
	if err != nil {
		t.Fatal(err)
	}
	if both.NeedsReseal(resealed) || !both.NeedsReseal(sealed) {
		t.Errorf("Reseal(%q) = %q", sealed, resealed)
	}
	after := ring(t, "new:"+key(2, 32))
	if v, err := after.Open(resealed, "row"); err != nil || v.Reveal() != canary {
		t.Errorf("Open() of the resealed secret without the old key = %q, %v", v.Reveal(), err)
	}
	_, err = after.Open(sealed, "row")
	if err == nil || !strings.Contains(err.Error(), `"old"`) || !strings.Contains(err.Error(), "GATEWAY_SECRETS_KEYS") {
		t.Errorf("error for a missing key has no remedy: %v", err)
	}
	if _, err := both.Reseal(sealed, "other row"); err == nil {
		t.Error("Reseal() for another row succeeded")
	}
	if _, err := ring(t, "old:"+key(3, 32)).Open(sealed, "row"); err == nil {
		t.Error("Open() with another key of the same name succeeded")
	}
	// The same key under another name must not open it.
	renamed := strings.Replace(sealed, "v1:old:", "v1:new:", 1)
	if _, err := ring(t, "new:"+key(1, 32)).Open(renamed, "row"); err == nil {
		t.Error("Open() with another key name succeeded")
	}
}

func TestSealRoundTripAndTampering(t *testing.T) {
	r := ring(t, "new:"+key(2, 32)+",old:"+key(1, 32))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		row := rapid.StringN(1, -1, -1).Draw(t, "row")
		sealed, err := r.Seal(secrets.NewValue(text), row)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := r.Open(sealed, row); err != nil || v.Reveal() != text {
			t.Fatalf("Open() = %q, %v", v.Reveal(), err)
		}
		other := rapid.String().Filter(func(s string) bool { return s != row }).Draw(t, "other row")
		if _, err := r.Open(sealed, other); err == nil {
			t.Fatalf("Open() for row %q of the seal for row %q succeeded", other, row)
		}
		i := rapid.IntRange(0, len(sealed)-1).Draw(t, "position")
		bit := rapid.IntRange(0, 7).Draw(t, "bit")
		changed := []byte(sealed)
		changed[i] ^= 1 << bit
		if v, err := r.Open(string(changed), row); err == nil {
			t.Fatalf("Open() with bit %d of byte %d flipped = %q", bit, i, v.Reveal())
		}
	})
}

func TestSealRejectsInsertedRemovedBytes(t *testing.T) {
	r := ring(t, "a:"+key(1, 32))
	sealed, err := r.Seal(secrets.NewValue(canary), "row")
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		if _, err := r.Open(sealed[:i]+sealed[i+1:], "row"); err == nil {
			t.Errorf("Open() without byte %d succeeded", i)
		}
		for _, extra := range []string{"\n", "\r", " ", "=", "A", ":"} {
			if _, err := r.Open(sealed[:i]+extra+sealed[i:], "row"); err == nil {
				t.Errorf("Open() with %q inserted at byte %d succeeded", extra, i)
			}
		}
	}
}

func BenchmarkBox(b *testing.B) {
	r := ring(b, "new:"+key(2, 32)+",old:"+key(1, 32))
	const row = "servers/0190a2b4-7c1e-7000-8000-000000000001/auth_bearer"
	secret := secrets.NewValue("a bearer token of ordinary length, forty")
	sealed, err := r.Seal(secret, row)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Seal(secret, row); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Open(sealed, row); err != nil {
				b.Fatal(err)
			}
		}
	})
}
