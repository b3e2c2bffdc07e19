package secrets_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"mcpgateway/services/secrets"
)

const canary = "canary-9b2f"

func TestValuePrintsRedacted(t *testing.T) {
	type holder struct {
		Token  secrets.Value
		hidden secrets.Value
	}
	v := secrets.NewValue(canary)
	nested := holder{v, v}
	subjects := map[string]any{
		"value": v, "pointer": &v, "slice": []secrets.Value{v}, "map": map[string]secrets.Value{"a": v},
		"struct": nested, "pointer to struct": &nested, "any": []any{v, &nested},
	}
	for name, subject := range subjects {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10s", "% x", "%T %v", "%p"} {
			out := fmt.Sprintf(verb, subject, subject)
			if strings.Contains(out, canary) || strings.Contains(strings.ToLower(out), fmt.Sprintf("%x", canary)) {
				t.Errorf("%s with %s prints %q", name, verb, out)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if out := fmt.Sprintf(verb, v); out != secrets.Redacted {
			t.Errorf("%s prints %q, want %q", verb, out, secrets.Redacted)
		}
	}
	if v.Reveal() != canary {
		t.Errorf("Reveal() = %q", v.Reveal())
	}
	_ = nested.hidden
}

func TestValueEncodesRedacted(t *testing.T) {
	v := secrets.NewValue(canary)
	subject := struct {
		Token secrets.Value
		Ptr   *secrets.Value
		Map   map[string]secrets.Value
	}{v, &v, map[string]secrets.Value{"a": v}}
	encode := map[string]func() (string, error){
		"json": func() (string, error) { b, err := json.Marshal(subject); return string(b), err },
		"xml":  func() (string, error) { b, err := xml.Marshal(v); return string(b), err },
		"gob": func() (string, error) {
			var b bytes.Buffer
			err := gob.NewEncoder(&b).Encode(subject)
			return b.String(), err
		},
		"text":   func() (string, error) { b, err := v.MarshalText(); return string(b), err },
		"binary": func() (string, error) { b, err := v.MarshalBinary(); return string(b), err },
		"slog text": func() (string, error) {
			var b bytes.Buffer
			slog.New(slog.NewTextHandler(&b, nil)).Info("m", "token", v, "ptr", &v, "all", subject)
			return b.String(), nil
		},
		"slog json": func() (string, error) {
			var b bytes.Buffer
			slog.New(slog.NewJSONHandler(&b, nil)).Info("m", "token", v, "ptr", &v, "all", subject)
			return b.String(), nil
		},
	}
	for name, f := range encode {
		out, err := f()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(out, canary) || !strings.Contains(out, secrets.Redacted) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

func TestValueIsNotStored(t *testing.T) {
	if v, err := secrets.NewValue(canary).Value(); err == nil || v != nil {
		t.Errorf("Value() = %v, %v, want an error", v, err)
	}
}

func TestEmptySecretIsZeroValue(t *testing.T) {
	var zero secrets.Value
	for name, v := range map[string]secrets.Value{"zero": zero, "of no text": secrets.NewValue("")} {
		if !v.IsZero() || v.Reveal() != "" || v.String() != secrets.Redacted {
			t.Errorf("%s: IsZero %v, Reveal %q, String %q", name, v.IsZero(), v.Reveal(), v)
		}
	}
	if secrets.NewValue("x").IsZero() {
		t.Error("IsZero() of a one-character secret = true")
	}
}
