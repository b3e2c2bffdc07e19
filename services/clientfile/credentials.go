package clientfile

import (
	"strings"

	"mcpgateway/services/rawjson"
)

// references converts references in the URL and in secrets to the gateway's
// form.
func (t *translation) references() {
	if field, there := t.fields["url"]; there {
		if text, ok := rawjson.String(field.Value); ok && holdsReference(text) {
			t.problem(field.From, "url", whyURL)
			delete(t.fields, "url")
		}
	}
	if field, there := t.fields["authBearer"]; there {
		if text, ok := rawjson.String(field.Value); ok {
			field.Value = t.secret(field.From, "authBearer", text)
			t.fields["authBearer"] = field
		}
	}
}

// secret returns a secret as JSON text, or nil after adding a problem.
func (t *translation) secret(path, field, text string) []byte {
	secret, why := reference(text, t.shell)
	if why != "" {
		t.problem(path, field, why)
	}
	return rawjson.Quote(secret)
}

// credentials converts a bearer header to authBearer and the references in
// other headers to the gateway's form, and selects the authType.
func (t *translation) credentials() {
	field, there := t.fields["headers"]
	headers, err := rawjson.ParseObject(field.Value, rawjson.Strict)
	if there && err == nil {
		for _, name := range headers.Names() {
			text, ok := rawjson.String(headers.Get(name))
			if !ok {
				continue
			}
			path := field.From
			if !t.Bridged {
				path = join(path, name)
			}
			if token, ok := bearerToken(name, text); ok {
				headers.Delete(name)
				t.bearer(path, token)
				continue
			}
			headers.Set(name, t.secret(path, "headers."+name, text))
		}
		field.Value = headers.Bytes()
		if t.fields["headers"] = field; headers.Len() == 0 {
			delete(t.fields, "headers")
		}
	}
	_, typed := t.fields["authType"]
	_, token := t.fields["authBearer"]
	if t.signIn != "" && !typed && !token {
		t.set("authType", t.signIn, rawjson.Quote("oauth"))
	}
}

// bearerToken returns the token of an Authorization header with the scheme
// Bearer.
func bearerToken(header, value string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	return strings.TrimSpace(token), strings.EqualFold(header, "Authorization") && strings.EqualFold(scheme, "Bearer")
}

// bearer sets the token of a bearer header.
func (t *translation) bearer(path, token string) {
	authType, typed := t.fields["authType"]
	if typed && !rawjson.EqualString(authType.Value, "bearer") {
		t.problem(path, "authType", "conflicts with authType: remove one of them")
		return
	}
	t.set("authBearer", path, t.secret(path, "authBearer", token))
	if !typed {
		t.set("authType", path, rawjson.Quote("bearer"))
	}
}
