package toolset

import (
	"crypto/sha256"
	"encoding/hex"

	"mcpgateway/services/rawjson"
)

// HashDefinition returns the SHA-256 of a raw tool definition in hexadecimal:
// the identity by which definitions are pinned and compared.
func HashDefinition(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// exportDefinition returns the definition as a client sees it: the upstream's
// bytes with nothing but the name changed.
func exportDefinition(definition *rawjson.Object, name string) []byte {
	definition.Set("name", rawjson.Quote(name))
	return definition.Bytes()
}

// isRepeatable reports whether a tool's annotations promise that calling it
// twice is the same as calling it once (MCP 2025-03-26, "ToolAnnotations").
func isRepeatable(definition *rawjson.Object) bool {
	annotations := definition.Object("annotations")
	return rawjson.Kind(annotations.Get("readOnlyHint")) == 't' || rawjson.Kind(annotations.Get("idempotentHint")) == 't'
}

// repairForHandshake returns the definition as clients of the revisions up to
// 2025-11-25 can read it, or nil when it needs no repair. Those revisions know
// only object schemas, and one other outputSchema makes their clients refuse
// the whole list, so it is left out.
func repairForHandshake(exported []byte) []byte {
	o, err := rawjson.ParseObject(exported, rawjson.Lenient)
	if err != nil {
		return nil
	}
	schema := o.Get("outputSchema")
	if schema == nil {
		return nil
	}
	if typ, _ := o.Object("outputSchema").String("type"); typ == "object" {
		return nil
	}
	o.Delete("outputSchema")
	return o.Bytes()
}
