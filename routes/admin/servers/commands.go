package servers

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/clientfile"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/web"
)

// refuseCommands returns VALIDATION_FAILED for a form with a key of commands.
// prefix precedes the names of the fields.
func refuseCommands(c *fiber.Ctx, prefix string) error {
	for _, key := range clientfile.CommandKeys() {
		if web.FormValue(c, prefix+key) != "" {
			return fault.Validation(map[string]string{key: clientfile.CommandsFromFile})
		}
	}
	if clientfile.IsStdio("type", rawjson.Quote(web.FormValue(c, prefix+"type"))) {
		return fault.Validation(map[string]string{"type": clientfile.CommandsFromFile})
	}
	return nil
}

// refuseTransport returns VALIDATION_FAILED for a transport that only runners have.
func refuseTransport(transport models.Transport) error {
	if transport == models.TransportStdio || transport == models.TransportConnector {
		return fault.Validation(map[string]string{"transport": clientfile.TransportFromFile})
	}
	return nil
}
