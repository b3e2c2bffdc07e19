package passwords_test

import (
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func TestPasswordHashesAreArgon2id(t *testing.T) {
	const password = "an admin's long secret"
	p := passwords.New(argon2.IDKey)
	hash, err := p.Hash(t.Context(), passwords.NetworkQueue("192.0.2.1"), secrets.NewValue(password))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || len(hash) > 120 {
		t.Errorf("Hash() = %s", hash)
	}
	again, err := p.Hash(t.Context(), passwords.NetworkQueue("192.0.2.1"), secrets.NewValue(password))
	if err != nil || again == hash {
		t.Errorf("two hashes of a password are equal (%v)", err)
	}
	for text, right := range map[string]bool{password: true, password + " ": false, "": false} {
		if ok, outdated, err := p.Matches(t.Context(), passwords.NetworkQueue("192.0.2.1"), hash, secrets.NewValue(text)); ok != right || outdated || err != nil {
			t.Errorf("Matches(%q) = %v, %v, %v", text, ok, outdated, err)
		}
	}
	if ok, _, err := p.Matches(t.Context(), passwords.NetworkQueue("192.0.2.1"), "", secrets.Value{}); ok || err != nil {
		t.Errorf("Matches() with an empty hash = %v, %v", ok, err)
	}
	// RFC 9106 has no vector without a key, so this one comes from the reference
	// implementation: echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1 -l
	// 32.
	known := "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if ok, outdated, err := p.Matches(t.Context(), passwords.NetworkQueue("192.0.2.1"), known, secrets.NewValue("password")); !ok || !outdated || err != nil {
		t.Errorf("Matches() with the reference hash = %v, %v, %v", ok, outdated, err)
	}
}

func TestInvalidStoredHashesAreRejected(t *testing.T) {
	p := passwords.New(func(_, _ []byte, _, _ uint32, _ uint8, length uint32) []byte { return make([]byte, length) })
	for _, hash := range []string{
		"x", "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ", "$argon2i$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "$argon2id$v=18$m=19456,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=262145,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "$argon2id$v=19$m=19456,t=0,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "$argon2id$v=19$m=19456,t=17,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=19456,t=2,p=0$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "$argon2id$v=19$m=19456,t=2,p=17$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "$argon2id$v=19$m=19456,t=2,p=1$$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$", "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$AAAA", "$argon2id$v=19$m=19456,t=2,p=1$!$AAAAAAAAAAAAAAAAAAAAAA",
	} {
		ok, _, err := p.Matches(t.Context(), passwords.NetworkQueue("192.0.2.1"), hash, secrets.NewValue("x"))
		if f := accesstest.Want(t, err, fault.CodeInternal); ok || strings.Contains(f.Error(), "argon2") {
			t.Errorf("%s: %v, %v", hash, ok, f)
		}
	}
	if ok, _, err := p.Matches(t.Context(), passwords.NetworkQueue("192.0.2.1"), "$argon2id$v=19$m=262144,t=16,p=16$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", secrets.NewValue("x")); !ok || err != nil {
		t.Errorf("at the limits: %v, %v", ok, err)
	}
}
