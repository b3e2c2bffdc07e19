// Package apps reads the user interface resources of MCP Apps (extension
// io.modelcontextprotocol/ui) and decides what their documents may load.
package apps

import (
	"encoding/base64"
	"mime"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// MaxDocument is the maximum size of a document in bytes.
const MaxDocument = 5 << 20

// Resource is the user interface of a tool.
type Resource struct {
	URI      string
	Document []byte // HTML
	Policy   Policy
}

// Read returns the app in a raw result of resources/read. listed is the raw
// element of resources/list for the same resource, or nil: its settings apply
// unless the result has its own. Read returns UPSTREAM_INVALID_RESPONSE if there
// is no app or if its document is too large.
func Read(result, listed []byte) (*Resource, error) {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return nil, invalid("The response is not a resource.")
	}
	contents, err := rawjson.Elements(o.Get("contents"), rawjson.Lenient)
	if err != nil {
		return nil, invalid("The response is not a resource.")
	}
	found := "nothing"
	for _, raw := range contents {
		content, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			continue
		}
		kind, _ := content.String("mimeType")
		if isApp(kind) {
			return read(content, listed)
		}
		found = clip(kind)
	}
	return nil, invalid("The resource is not an app: its type is " + found + ", not text/html;profile=mcp-app.")
}

// isApp reports whether a media type is that of an app.
func isApp(mediaType string) bool {
	kind, params, err := mime.ParseMediaType(mediaType)
	return err == nil && kind == "text/html" && params["profile"] == "mcp-app"
}

func read(content *rawjson.Object, listed []byte) (*Resource, error) {
	r := &Resource{}
	r.URI, _ = content.String("uri")
	if text, ok := content.String("text"); ok {
		r.Document = []byte(text)
	} else {
		blob, ok := content.String("blob")
		decoded, err := base64.StdEncoding.DecodeString(blob)
		if !ok || err != nil {
			return nil, invalid("The app has neither text nor a valid blob.")
		}
		r.Document = decoded
	}
	if len(r.Document) > MaxDocument {
		return nil, invalid("The app is larger than 5 MiB.")
	}
	csp := content.Object("_meta").Object("ui").Object("csp")
	if csp == nil {
		if entry, err := rawjson.ParseObject(listed, rawjson.Lenient); err == nil {
			csp = entry.Object("_meta").Object("ui").Object("csp")
		}
	}
	r.Policy = policyOf(csp)
	return r, nil
}

func invalid(message string) error {
	return fault.Upstream(fault.CodeUpstreamInvalidResponse, "%s", message)
}

// clip returns the beginning of a media type for messages.
func clip(mediaType string) string {
	const most = 64
	if mediaType == "" {
		return "missing"
	}
	return strings.ToValidUTF8(mediaType[:min(len(mediaType), most)], "")
}
