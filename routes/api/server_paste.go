package api

import (
	"maps"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// pastedAnswer is the response to a client's configuration: the added servers
// and, by path, the problems of the others.
type pastedAnswer struct {
	listAnswer[serverRecord]
	Refused  map[string]string `json:"refused"`
	Warnings []fault.Warning   `json:"warnings"`
}

// warnNotTaken is the code of the warning about ignored keys of a client's
// configuration.
const warnNotTaken = "NOT_TAKEN"

func notTaken(notes []string) []fault.Warning {
	warnings := make([]fault.Warning, 0, len(notes))
	for _, note := range notes {
		warnings = append(warnings, fault.Warning{Code: warnNotTaken, Message: note})
	}
	return warnings
}

// createPasted adds the servers of a client's configuration one by one. It
// fails when none of them could be added.
func (s *Servers) createPasted(c *fiber.Ctx, pasted *declaration.Pasted) error {
	answer := pastedAnswer{listAnswer: listAnswer[serverRecord]{Items: []serverRecord{}}, Refused: pasted.Refusals(), Warnings: notTaken(pasted.Notes)}
	var failed error
	for _, one := range pasted.Servers {
		if len(one.Problems) > 0 {
			continue
		}
		saved, err := s.store.AddServer(c.UserContext(), c.Params("projectSlug"), one.Alias, one.Declaration)
		switch f := fault.From(err); {
		case err == nil:
		case f.Kind == fault.KindConflict || f.Kind == fault.KindValidation:
			failed = err
			maps.Copy(answer.Refused, pasted.RefusalsOf(one.Alias, f))
			continue
		default:
			return err
		}
		saved.Warnings = append(saved.Warnings, notTaken(one.Notes)...)
		record, err := s.savedRecord(c.UserContext(), saved)
		if err != nil {
			return err
		}
		answer.Items = append(answer.Items, record)
	}
	if answer.Count = len(answer.Items); answer.Count > 0 {
		return c.Status(fiber.StatusCreated).JSON(answer)
	}
	if f := fault.From(failed); f.Kind == fault.KindConflict {
		return failed
	}
	return fault.Validation(answer.Refused)
}
