package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// formatVersion is the version of the catalog's own file format.
const formatVersion = 1

// maxFaultFields is how many unusable rows of a file are named.
const maxFaultFields = 20

// readFile reads a document of the catalog's own format: registry rows,
// templates, or both. Whoever wrote it can mend it, so one unusable row
// refuses the whole; the VALIDATION_FAILED fault names the first ones.
func readFile(raw []byte) (*batch, error) {
	if len(raw) > MaxFileBytes {
		return nil, fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "the file is larger than %d MiB", MaxFileBytes>>20)
	}
	var file struct {
		Version int               `json:"version"`
		Items   []json.RawMessage `json:"items"`
	}
	// Some editors put a byte-order mark before the text (RFC 8259, section 8.1).
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), &file); err != nil {
		return nil, fault.Validation(map[string]string{"(file)": `it is not a catalog file such as {"version":1,"items":[…]}: ` + clean(misread(err).Error(), maxTitle)})
	}
	if file.Version != formatVersion {
		return nil, fault.Validation(map[string]string{"version": fmt.Sprintf("must be %d", formatVersion)})
	}
	if file.Items == nil {
		return nil, fault.Validation(map[string]string{"items": "is missing: it is the list of rows"})
	}
	if len(file.Items) > MaxRows {
		return nil, tooMany()
	}
	b := &batch{fetched: len(file.Items)}
	wrong := map[string]string{}
	for i, raw := range file.Items {
		file.Items[i] = nil // a large file is not kept beside what was read of it
		if err := b.readItem(raw); err != nil {
			wrong["items["+strconv.Itoa(i)+"]"] = clean(err.Error(), maxDescription)
			if len(wrong) == maxFaultFields {
				break
			}
		}
	}
	if len(wrong) > 0 {
		return nil, fault.Validation(wrong)
	}
	return b, nil
}

// readItem reads a row, which is a template when it has a slug.
func (b *batch) readItem(raw []byte) error {
	var i item
	err := json.Unmarshal(raw, &i)
	switch {
	case i.Slug != nil && (i.PublisherName != "" || i.ServerName != ""):
		return errors.New("it has a slug, as templates have, and publisherName or serverName, as servers have: make it two rows")
	case i.Slug != nil:
		return b.readTemplate(raw)
	case err != nil:
		return misread(err)
	}
	row, err := i.entry("")
	if err != nil {
		return err
	}
	if row.Status == models.CatalogDeleted {
		b.entries.withdraw(fullName(&row))
		return nil
	}
	if b.entries.speaksOf(fullName(&row)) {
		return fmt.Errorf("%s is in the file twice", fullName(&row))
	}
	b.entries.put(fullName(&row), &row)
	return nil
}

func (b *batch) readTemplate(raw []byte) error {
	var i templateItem
	if err := json.Unmarshal(raw, &i); err != nil {
		return misread(err)
	}
	row, err := i.template()
	if err != nil {
		return err
	}
	if row.Status == models.CatalogDeleted {
		b.templates.withdraw(row.Slug)
		return nil
	}
	if b.templates.speaksOf(row.Slug) {
		return fmt.Errorf("%s is in the file twice", row.Slug)
	}
	b.templates.put(row.Slug, &row)
	return nil
}

// misread returns an error of JSON of the wrong type in the words of the file.
func misread(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	wanted := "an object"
	switch kind := wrong.Type.Kind(); kind {
	case reflect.String:
		wanted = "a text"
	case reflect.Bool:
		wanted = "true or false"
	case reflect.Slice:
		wanted = "a list"
	case reflect.Int, reflect.Int64:
		wanted = "a whole number"
	}
	if wrong.Field == "" {
		return fmt.Errorf("this should be %s, not a JSON %s", wanted, wrong.Value)
	}
	return fmt.Errorf("%s should be %s, not a JSON %s", wrong.Field, wanted, wrong.Value)
}
