package modelstest

import "testing"

func TestFingerprint(t *testing.T) {
	postgres, err := fingerprint("postgres")
	if err != nil {
		t.Fatal(err)
	}
	again, err := fingerprint("postgres")
	if err != nil {
		t.Fatal(err)
	}
	sqlite, err := fingerprint("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if len(postgres) != 64 || postgres != again || postgres == sqlite {
		t.Errorf("fingerprint = %q, then %q for postgres, %q for sqlite, want 64 digits, equal and different", postgres, again, sqlite)
	}
}
