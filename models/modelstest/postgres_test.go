package modelstest

import "testing"

func TestFingerprintsTellTheDialectsApartAndAreStable(t *testing.T) {
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
		t.Errorf("fingerprints: postgres %q, then %q, sqlite %q", postgres, again, sqlite)
	}
}
