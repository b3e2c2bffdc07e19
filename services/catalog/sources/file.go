package sources

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// formatVersion is the version of the catalog's own file format.
const formatVersion = 1

// maxFaultFields is the maximum number of invalid rows reported for a file.
const maxFaultFields = 20

// ParseFile parses a document in the catalog's own format: registry rows,
// templates, or both. Its author can fix it, so one invalid row rejects the
// whole file. The VALIDATION_FAILED fault names the first ones.
func ParseFile(raw []byte) (*Batch, error) {
	if len(raw) > MaxFileBytes {
		return nil, fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The file is larger than %d MiB.", MaxFileBytes>>20)
	}
	var file struct {
		Version int              `json:"version"`
		Items   []jsontext.Value `json:"items"`
	}
	// Some editors put a byte-order mark before the text (RFC 8259, section
	// 8.1).
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, fault.Validation(map[string]string{"(file)": `not a catalog file such as {"version":1,"items":[…]}: ` + Clean(typeError(err).Error(), MaxTitle)})
	}
	if file.Version != formatVersion {
		return nil, fault.Validation(map[string]string{"version": fmt.Sprintf("must be %d", formatVersion)})
	}
	if file.Items == nil {
		return nil, fault.Validation(map[string]string{"items": "missing: the list of rows is required"})
	}
	if len(file.Items) > MaxRows {
		return nil, TooMany()
	}
	b := &Batch{Fetched: len(file.Items)}
	wrong := map[string]string{}
	for i, raw := range file.Items {
		file.Items[i] = nil // free the raw rows of a large file while it is parsed
		if err := b.readItem(raw); err != nil {
			wrong["items["+strconv.Itoa(i)+"]"] = Clean(err.Error(), MaxDescription)
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

// readItem parses a row. A row with a slug is a template.
func (b *Batch) readItem(raw []byte) error {
	var names struct {
		Slug          jsontext.Value `json:"slug"`
		PublisherName jsontext.Value `json:"publisherName"`
		ServerName    jsontext.Value `json:"serverName"`
	}
	if err := json.Unmarshal(raw, &names); err != nil {
		return typeError(err)
	}
	switch {
	case names.Slug != nil && (names.PublisherName != nil || names.ServerName != nil):
		return errors.New("it has a slug like a template, and publisherName or serverName like a server: split it into two rows")
	case names.Slug != nil:
		return b.readTemplate(raw)
	}
	var i item
	if err := json.Unmarshal(raw, &i, json.RejectUnknownMembers(true)); err != nil {
		return typeError(err)
	}
	if unusable := i.unusableAddresses(); len(unusable) > 0 {
		return fmt.Errorf("%s is invalid: use a URL that starts with https://", strings.Join(unusable, ", "))
	}
	row, err := i.entry("")
	if err != nil {
		return err
	}
	if row.Status == models.CatalogDeleted {
		b.Entries.withdraw(FullName(&row))
		return nil
	}
	if b.Entries.Has(FullName(&row)) {
		return fmt.Errorf("%s is in the file twice", FullName(&row))
	}
	b.Entries.put(FullName(&row), &row)
	return nil
}

func (b *Batch) readTemplate(raw []byte) error {
	var i templateItem
	if err := json.Unmarshal(raw, &i, json.RejectUnknownMembers(true)); err != nil {
		return typeError(err)
	}
	row, err := i.template()
	if err != nil {
		return err
	}
	if row.Status == models.CatalogDeleted {
		b.Templates.withdraw(row.Slug)
		return nil
	}
	if b.Templates.Has(row.Slug) {
		return fmt.Errorf("%s is in the file twice", row.Slug)
	}
	b.Templates.put(row.Slug, &row)
	return nil
}

// typeError returns an error of the JSON decoder in terms of the file: the
// unknown or repeated member, or the one with a wrong type.
func typeError(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName) {
		return fmt.Errorf("the member %s is repeated", memberOf(syntax.JSONPointer))
	}
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return err
	}
	member := memberOf(wrong.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		return fmt.Errorf("the member %s is unknown: check its spelling and case", member)
	}
	if wrong.GoType == nil || wrong.JSONKind == 0 || wrong.Err != nil {
		return fmt.Errorf("%s is invalid: %w", member, err)
	}
	return fmt.Errorf("%s must be %s, not a JSON %s", member, wantedType(wrong.GoType), kindName(wrong.JSONKind))
}

func wantedType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "an object"
}

// memberOf returns the member that a JSON pointer in a row or file refers to,
// in dot notation. Elements of a list have the name of the list.
func memberOf(at jsontext.Pointer) string {
	var names []string
	for token := range at.Tokens() {
		if _, err := strconv.Atoi(token); err != nil {
			names = append(names, token)
		}
	}
	return cmp.Or(strings.Join(names, "."), "this")
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "bool"
	case '0':
		return "number"
	}
	return k.String()
}
