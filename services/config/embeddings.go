package config

import (
	"net/netip"
	"net/url"
	"strings"

	"mcpgateway/services/secrets"
)

// Embeddings is the endpoint of a model that compares tasks with tools.
type Embeddings struct {
	URL   string // base of the API, without a slash at its end; empty turns embeddings off
	Model string
	Key   secrets.Value // bearer token, or zero
}

// maxModelName is the maximum length of a model's name, in bytes.
const maxModelName = 256

func (r *loader) embeddings(vars variables) Embeddings {
	e := Embeddings{URL: strings.TrimRight(vars.EmbedURL, "/"), Model: vars.EmbedModel, Key: secrets.NewValue(vars.EmbedKey)}
	if vars.EmbedURL == "" {
		for _, v := range [...]struct{ name, value string }{{"GATEWAY_EMBEDDINGS_MODEL", vars.EmbedModel}, {"GATEWAY_EMBEDDINGS_KEY", vars.EmbedKey}} {
			if v.value != "" {
				r.addProblem("%s: requires GATEWAY_EMBEDDINGS_URL", v.name)
			}
		}
		return e
	}
	if problem := endpointProblem(e.URL, vars.EmbedKey != ""); problem != "" {
		r.addProblem("GATEWAY_EMBEDDINGS_URL: %s", problem)
	}
	if e.Model == "" || len(e.Model) > maxModelName || strings.ContainsFunc(e.Model, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		r.addProblem("GATEWAY_EMBEDDINGS_MODEL: set it to the name of the model at the endpoint, such as text-embedding-3-small")
	}
	if strings.ContainsFunc(vars.EmbedKey, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		r.addProblem("GATEWAY_EMBEDDINGS_KEY: use only visible ASCII characters")
	}
	return e
}

// endpointProblem returns the problem of the base URL of an API, or "".
func endpointProblem(base string, hasKey bool) string {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(base, "?# ") {
		return "use the base URL of an OpenAI-compatible API, such as https://api.example.com/v1"
	}
	addr, addrErr := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || addrErr == nil && addr.IsLoopback()
	if u.Scheme == "http" && hasKey && !loopback {
		return "use https; a key is sent over http only to this machine"
	}
	return ""
}
