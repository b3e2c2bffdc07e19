package secrets_test

import (
	"testing"

	"mcpgateway/services/secrets"
)

const (
	firstKey  = "a:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	secondKey = "b:YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk="
)

func handleRing(t *testing.T, list string) *secrets.KeyRing {
	t.Helper()
	ring, err := secrets.ParseKeyRing(list)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestHandlesAreStableAndBound(t *testing.T) {
	t.Parallel()
	old := handleRing(t, firstKey)
	seal := func(purpose, owner, plain string) string {
		handle, err := old.SealHandle(purpose, owner, []byte(plain))
		if err != nil {
			t.Fatal(err)
		}
		return handle
	}
	handle := seal("task", "ann", "content")
	if again := seal("task", "ann", "content"); again != handle {
		t.Errorf("the same content has the handles %s and %s", handle, again)
	}
	for _, other := range []string{seal("task", "ann", "contenu"), seal("task", "bob", "content"), seal("other", "ann", "content")} {
		if other == handle {
			t.Error("different content, owners or purposes have the same handle")
		}
	}
	changed := []byte(handle)
	changed[len(changed)/2] ^= 1
	rotated := handleRing(t, secondKey+","+firstKey)
	for name, tt := range map[string]struct {
		ring                   *secrets.KeyRing
		purpose, owner, handle string
		opens                  bool
	}{
		"same":          {old, "task", "ann", handle, true},
		"rotated":       {rotated, "task", "ann", handle, true},
		"other ring":    {handleRing(t, secondKey), "task", "ann", handle, false},
		"other owner":   {old, "task", "bob", handle, false},
		"other purpose": {old, "other", "ann", handle, false},
		"changed":       {old, "task", "ann", string(changed), false},
		"cut":           {old, "task", "ann", handle[:len(handle)-2], false},
		"a token":       {old, "task", "ann", old.SealToken("task", []byte("content")), false},
		"empty":         {old, "task", "ann", "", false},
	} {
		plain, err := tt.ring.OpenHandle(tt.purpose, tt.owner, tt.handle)
		if opened := err == nil; opened != tt.opens || opened && string(plain) != "content" {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
}
