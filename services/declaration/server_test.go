package declaration_test

import (
	"testing"

	"mcpgateway/services/declaration"
)

func TestOAuthProblemsSuggest(t *testing.T) {
	for _, tt := range []struct{ oauth, message, path string }{
		{`{"tokenURL":"https://as.example/token"}`, "did you mean tokenUrl?", "tokenURL"},
		{`{"grant":"password"}`, "use one of authorization_code, client_credentials", "grant"},
		{`{"grant":""}`, "use one of authorization_code, client_credentials", "grant"},
		{`{"authMethod":"none"}`, "use one of client_secret_basic, client_secret_post, private_key_jwt", "authMethod"},
		{`{"privateKey":1}`, "use a string", "privateKey"},
	} {
		_, err := declaration.Parse([]byte(inServer(`"oauth":` + tt.oauth)))
		wantProblem(t, err, tt.message, "projects.p.mcpServers.s.oauth."+tt.path)
	}
}
