package servers

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/clientfile"
	"mcpgateway/services/fault"
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
	return nil
}
