package config_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/services/config"
)

const (
	embeddingsURL   = "GATEWAY_EMBEDDINGS_URL="
	embeddingsModel = "GATEWAY_EMBEDDINGS_MODEL=small"
	embeddingsKey   = "GATEWAY_EMBEDDINGS_KEY=the-secret-key"
)

func TestEmbeddings(t *testing.T) {
	if c := mustLoad(t); c.Embeddings.URL != "" {
		t.Errorf("embeddings are on by default: %+v", c.Embeddings)
	}
	c := mustLoad(t, embeddingsURL+"https://api.example.com/v1/", embeddingsModel, embeddingsKey)
	if e := c.Embeddings; e.URL != "https://api.example.com/v1" || e.Model != "small" || e.Key.Reveal() != "the-secret-key" {
		t.Errorf("embeddings: %+v", e)
	}
	if text := fmt.Sprintf("%+v %#v", c.Embeddings, c.Embeddings); strings.Contains(text, "the-secret-key") {
		t.Errorf("the key is printed: %s", text)
	}
}

func TestEmbeddingsAddresses(t *testing.T) {
	for address, want := range map[string]struct{ open, keyed bool }{
		"https://api.example.com/v1":     {true, true},
		"http://127.0.0.1:11434/v1":      {true, true},
		"http://localhost:11434":         {true, true},
		"http://[::1]:11434/v1":          {true, true},
		"http://models.internal:8080/v1": {true, false},
		"ftp://api.example.com":          {},
		"api.example.com/v1":             {},
		"https://u:p@api.example.com":    {},
		"https://api.example.com/v1?a=b": {},
		"https://api.example.com/v1#a":   {},
		"https:///v1":                    {},
	} {
		for _, keyed := range []bool{false, true} {
			settings, ok := []string{withKeys, embeddingsURL + address, embeddingsModel}, want.open
			if keyed {
				settings, ok = append(settings, embeddingsKey), want.keyed
			}
			_, err := config.Load(settings, "")
			if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "GATEWAY_EMBEDDINGS_URL: use ") {
				t.Errorf("%s, with key %v: %v", address, keyed, err)
			}
		}
	}
}

func TestIncompleteEmbeddings(t *testing.T) {
	wantMistakes(t, []string{withKeys, embeddingsModel, embeddingsKey},
		"GATEWAY_EMBEDDINGS_MODEL: requires GATEWAY_EMBEDDINGS_URL", "GATEWAY_EMBEDDINGS_KEY: requires GATEWAY_EMBEDDINGS_URL")
	wantMistakes(t, []string{withKeys, embeddingsURL + "https://api.example.com"}, "GATEWAY_EMBEDDINGS_MODEL: set it to the name of the model")
	wantMistakes(t, []string{withKeys, embeddingsURL + "https://api.example.com", "GATEWAY_EMBEDDINGS_MODEL=a b"}, "GATEWAY_EMBEDDINGS_MODEL: set it to the name of the model")
	wantMistakes(t, []string{withKeys, embeddingsURL + "https://api.example.com", "GATEWAY_EMBEDDINGS_MODEL=" + strings.Repeat("m", 257)}, "GATEWAY_EMBEDDINGS_MODEL: set it to the name of the model")
	mustLoad(t, embeddingsURL+"https://api.example.com", "GATEWAY_EMBEDDINGS_MODEL="+strings.Repeat("m", 256))
	wantMistakes(t, []string{withKeys, embeddingsURL + "https://api.example.com", embeddingsModel, "GATEWAY_EMBEDDINGS_KEY=a\nb"}, "GATEWAY_EMBEDDINGS_KEY: use only visible ASCII characters")
}
