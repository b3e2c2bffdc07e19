package declaration

import (
	"mcpgateway/models"
)

// Personal is the part of a server's declaration about the accounts that the
// gateway uses there.
type Personal struct {
	Connection      *models.ConnectionMode
	PersonalHeaders *[]string
	// InventoryPerson is the email address of the user whose connection reads the
	// inventory; "" for no choice.
	InventoryPerson *string
	// Confirm is the server's alias. A change of Connection that removes
	// connections requires it.
	Confirm *string
}

// personalFields returns the keys of Personal.
func (r *reader) personalFields(d *Personal) fields {
	return fields{
		"connection":      oneOf(r, &d.Connection, models.ConnectionShared, models.ConnectionPersonal),
		"personalHeaders": r.strings(&d.PersonalHeaders, MaxPersonalHeaders, MaxPattern),
		"inventoryPerson": r.text(&d.InventoryPerson, MaxEmail),
		"confirm":         r.text(&d.Confirm, 64),
	}
}
