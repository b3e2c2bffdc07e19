package signin

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access/storedforms"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// acts describes the forms that require a confirmation, by the last segment of
// their path.
var acts = map[string]ui.Act{
	"keys":          {Verb: "create the key", Generic: "create a key", Button: "create key"},
	"rotate":        {Generic: "rotate a key", Button: "rotate key"},
	"revoke":        {Generic: "revoke a key", Button: "revoke key"},
	"people":        {Verb: "invite", Generic: "invite a person", Button: "invite"},
	"invite":        {Generic: "create an invite link", Button: "create link"},
	"reset":         {Generic: "create a reset link", Button: "create link"},
	"disable":       {Generic: "block a person", Button: "block"},
	"credentials":   {Generic: "change stored credentials", Button: "save"},
	"client":        {Generic: "change an OAuth client", Button: "save"},
	"servers":       {Generic: "add servers", Button: "add servers"},
	"edit":          {Generic: "send stored credentials to a new URL", Button: "save"},
	"apply":         {Generic: "import a file", Button: "import"},
	"apps":          {Generic: "add an authenticator app", Button: "add app"},
	"passkeys":      {Generic: "add a passkey", Button: "add passkey"},
	"codes":         {Generic: "create new recovery codes", Button: "create codes"},
	"rename":        {Generic: "rename a second factor", Button: "rename"},
	"remove":        {Generic: "remove a second factor", Button: "remove"},
	"reset-factors": {Generic: "remove a person's second factors", Button: "remove"},
}

// actNames are the fields that name the object of a form, by the last segment of
// its path.
var actNames = map[string]string{"keys": "name", "people": "email"}

// actOf describes the action of a form posted to path. value returns its fields.
// The result is zero for forms that change no secrets.
func actOf(path string, value func(name string) string) ui.Act {
	last := path[strings.LastIndex(path, "/")+1:]
	act, known := acts[last]
	switch people := strings.HasPrefix(path, paths.People+"/"); {
	case people && last == "enable":
		return ui.Act{Generic: "unblock a person", Button: "unblock"}
	case people && last == "delete":
		return ui.Act{Generic: "delete a person", Button: "delete"}
	case people && !known:
		return ui.Act{Generic: "change a person", Button: "save"}
	}
	if field := actNames[last]; field != "" {
		act.Name = strings.TrimSpace(value(field))
	}
	return act
}

// postedAct describes the action of the request's form.
func postedAct(c *fiber.Ctx) ui.Act {
	return actOf(c.Path(), func(name string) string { return web.FormValue(c, name) })
}

// storedAct describes the action of a stored form.
func storedAct(form storedforms.Form) ui.Act {
	path, _, _ := strings.Cut(form.URL, "?")
	values, err := url.ParseQuery(string(form.Body))
	if err != nil {
		values = nil
	}
	return actOf(path, values.Get)
}
