package signing_test

import (
	"bytes"
	"encoding/base64"
	"testing"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/outbox/signing"
	"mcpgateway/services/secrets"
)

// TestSignature has the example of the specification of Standard Webhooks.
func TestSignature(t *testing.T) {
	secret := secrets.NewValue("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	got, err := signing.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), secret)
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want || err != nil {
		t.Errorf("Sign = %q, %v, want %q", got, err, want)
	}
}

func TestSecretSize(t *testing.T) {
	for _, tt := range []struct {
		size int
		ok   bool
	}{
		{0, false},
		{signing.MinSecret - 1, false}, {signing.MinSecret, true}, {signing.MinSecret + 1, true},
		{signing.MaxSecret - 1, true}, {signing.MaxSecret, true}, {signing.MaxSecret + 1, false},
	} {
		secret := secrets.NewValue("whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, tt.size)))
		if err := signing.Check(secret); (err == nil) != tt.ok || err != nil && !fault.Is(err, fault.CodeValidationFailed) {
			t.Errorf("%d bytes: %v", tt.size, err)
		}
	}
	for _, text := range []string{"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_***", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"} {
		if err := signing.Check(secrets.NewValue(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if err := signing.Check(signing.New()); err != nil {
		t.Errorf("a new secret: %v", err)
	}
}
