package models

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// StringList is a list of strings in one text column, as a JSON array. The
// empty list is stored as "[]".
type StringList []string

// Value returns the list as JSON text.
func (l StringList) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal([]string(l))
	return string(b), err
}

// Scan sets the list from JSON text.
func (l *StringList) Scan(src any) error { return scanJSON(src, l) }

// GormDataType returns the column type for GORM.
func (StringList) GormDataType() string { return "text" }

// StringMap maps strings to strings in one text column, as a JSON object with
// sorted names. The empty map is stored as "{}".
type StringMap map[string]string

// Value returns the map as JSON text.
func (m StringMap) Value() (driver.Value, error) {
	if len(m) == 0 {
		return "{}", nil
	}
	b, err := json.Marshal(map[string]string(m))
	return string(b), err
}

// Scan sets the map from JSON text.
func (m *StringMap) Scan(src any) error { return scanJSON(src, m) }

// GormDataType returns the column type for GORM.
func (StringMap) GormDataType() string { return "text" }

func scanJSON(src, dst any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), dst)
	case []byte:
		return json.Unmarshal(v, dst)
	default:
		return fmt.Errorf("unsupported column type %T", src)
	}
}
