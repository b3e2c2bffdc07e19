package models_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

// tables lists every model. The tests below fail when one is missing.
func tables() []any {
	return []any{
		&models.AddressClaim{},
		&models.Artifact{},
		&models.AuditAnchor{},
		&models.Alert{},
		&models.AlertRule{},
		&models.AuditEntry{},
		&models.AuditHead{},
		&models.AuthenticatorApp{},
		&models.BrowserSession{},
		&models.Call{},
		&models.CallPayload{},
		&models.CatalogChange{},
		&models.CatalogCheck{},
		&models.CatalogEntry{},
		&models.CatalogIcon{},
		&models.CatalogKey{},
		&models.CatalogRequest{},
		&models.CatalogSource{},
		&models.CatalogTemplate{},
		&models.CatalogView{},
		&models.CatalogViewEntry{},
		&models.CodeRun{},
		&models.Connection{},
		&models.ConnectionFlow{},
		&models.ConnectionRegistration{},
		&models.Connector{},
		&models.DeadLetter{},
		&models.Declaration{},
		&models.Destination{},
		&models.Embedding{},
		&models.EndedSession{},
		&models.FinishedResult{},
		&models.Group{},
		&models.GroupMember{},
		&models.Inventory{},
		&models.InventoryChange{},
		&models.Invite{},
		&models.KeptForm{},
		&models.Key{},
		&models.KeyToolset{},
		&models.LearnedRevision{},
		&models.Listing{},
		&models.LoginLimit{},
		&models.OAuthClient{},
		&models.OAuthCode{},
		&models.OAuthGrant{},
		&models.OAuthLimit{},
		&models.OAuthToken{},
		&models.OAuthViewToken{},
		&models.OutboxEvent{},
		&models.OutboxState{},
		&models.Passkey{},
		&models.PersonalConnection{},
		&models.Project{},
		&models.ProjectGrant{},
		&models.ProjectMember{},
		&models.QuotaUse{},
		&models.Recipe{},
		&models.RecipeProposal{},
		&models.RecipeVersion{},
		&models.RecoveryCode{},
		&models.RefusedRequest{},
		&models.Replica{},
		&models.Revision{},
		&models.Server{},
		&models.ServerState{},
		&models.SessionLevel{},
		&models.SessionResource{},
		&models.Setup{},
		&models.SetupToken{},
		&models.SpentSignIn{},
		&models.Tool{},
		&models.Toolset{},
		&models.UpstreamTask{},
		&models.UsageDay{},
		&models.User{},
	}
}

// column is a column as declared by a model or a migration.
type column struct {
	Type string // bool, int, float, text, time, bytes
	Null bool
}

func TestColumnsMatchModelFields(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		names, err := db.Migrator().GetTables()
		if err != nil {
			t.Fatal(err)
		}
		migrated := map[string]map[string]column{}
		for _, name := range names {
			if name != "goose_db_version" && !strings.HasPrefix(name, "sqlite_") {
				migrated[name] = migratedColumns(t, db, name)
			}
		}
		modelled := map[string]map[string]column{}
		for _, model := range tables() {
			parsed, err := schema.Parse(model, &sync.Map{}, db.NamingStrategy)
			if err != nil {
				t.Fatal(err)
			}
			modelled[parsed.Table] = modelledColumns(t, parsed)
		}
		if diff := cmp.Diff(modelled, migrated); diff != "" {
			t.Errorf("models and migrations differ (-models +migrations):\n%s", diff)
		}
	})
}

func modelledColumns(t *testing.T, parsed *schema.Schema) map[string]column {
	t.Helper()
	types := map[schema.DataType]string{
		schema.Bool: "bool", schema.Int: "int", schema.Uint: "int", schema.Float: "float",
		schema.String: "text", "text": "text", schema.Time: "time", schema.Bytes: "bytes",
	}
	columns := map[string]column{}
	for _, f := range parsed.Fields {
		if f.DBName == "" {
			continue
		}
		kind, ok := types[f.DataType]
		if !ok {
			t.Errorf("%s.%s: unknown column type for %q", parsed.Name, f.Name, f.DataType)
		}
		columns[f.DBName] = column{Type: kind, Null: f.FieldType.Kind() == reflect.Pointer}
	}
	return columns
}

func migratedColumns(t *testing.T, db *gorm.DB, table string) map[string]column {
	t.Helper()
	types := map[string]string{
		// PostgreSQL. A timestamp without time zone is missing on purpose.
		"boolean": "bool", "bigint": "int", "double precision": "float", "text": "text", "timestamp with time zone": "time", "bytea": "bytes",
		// SQLite's declared types.
		"integer": "int", "real": "float", "datetime": "time", "blob": "bytes",
	}
	query := "SELECT column_name AS name, data_type AS type, is_nullable = 'YES' AS nullable FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ?"
	if db.Name() == "sqlite" {
		// A primary key is never null, even if it isn't declared NOT NULL.
		query = `SELECT name, lower(type) AS type, "notnull" = 0 AND pk = 0 AS nullable FROM pragma_table_info(?)`
	}
	var rows []struct {
		Name     string
		Type     string
		Nullable bool
	}
	if err := db.Raw(query, table).Scan(&rows).Error; err != nil {
		t.Fatal(err)
	}
	columns := map[string]column{}
	for _, r := range rows {
		kind, ok := types[r.Type]
		if !ok {
			kind = "unexpected " + r.Type
		}
		columns[r.Name] = column{Type: kind, Null: r.Nullable}
	}
	return columns
}

// TestEveryModelIsCompared reads the package's source, so that a model missing
// in the list above fails the test.
func TestEveryModelIsCompared(t *testing.T) {
	listed := map[string]bool{}
	for _, model := range tables() {
		listed[reflect.TypeOf(model).Elem().Name()] = true
	}
	found := map[string]bool{}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok && hasPrimaryKey(fields) {
				found[spec.Name.Name] = true
			}
			return true
		})
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("source and tables() differ (-source +tables):\n%s", diff)
	}
}

func hasPrimaryKey(s *ast.StructType) bool {
	return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		return f.Tag != nil && strings.Contains(f.Tag.Value, "primaryKey")
	})
}
