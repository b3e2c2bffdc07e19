package wire

import "mcpgateway/services/rawjson"

// The protocol revisions that the gateway distinguishes.
const (
	Revision20241105 = "2024-11-05" // the oldest supported
	Revision20250618 = "2025-06-18" // the first with a version header
	Revision20251125 = "2025-11-25" // the newest with a handshake
	Revision20260728 = "2026-07-28" // the first without sessions
)

// Revisions returns the protocol revisions of upstream servers, newest first.
func Revisions() []string {
	return []string{Revision20260728, Revision20251125, Revision20250618, "2025-03-26", Revision20241105}
}

// IsRevision reports whether v has the form of a protocol revision, which is a
// date.
func IsRevision(v string) bool {
	if len(v) != len(Revision20241105) {
		return false
	}
	for i := range len(v) {
		if dash := i == 4 || i == 7; dash != (v[i] == '-') || !dash && (v[i] < '0' || v[i] > '9') {
			return false
		}
	}
	return true
}

// IsOffered reports whether a -32022 error lists revision 2026-07-28 as
// supported.
func IsOffered(rpcError []byte) bool {
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	return err == nil && HoldsRevision(o.Object("data").Get("supported"))
}

// HoldsRevision reports whether the raw array contains revision 2026-07-28.
func HoldsRevision(versions []byte) bool {
	elements, err := rawjson.Elements(versions, rawjson.Lenient)
	if err != nil {
		return false
	}
	for _, e := range elements {
		if v, ok := rawjson.String(e); ok && v == Revision20260728 {
			return true
		}
	}
	return false
}

// HoldsHandshake reports whether the raw array contains a revision with a
// handshake.
func HoldsHandshake(versions []byte) bool {
	elements, err := rawjson.Elements(versions, rawjson.Lenient)
	if err != nil {
		return false
	}
	for _, e := range elements {
		if v, ok := rawjson.String(e); ok && IsRevision(v) && v >= Revision20241105 && v < Revision20260728 {
			return true
		}
	}
	return false
}

// Object returns raw if it is a JSON object, otherwise nil.
func Object(raw []byte) []byte {
	if rawjson.Kind(raw) != '{' {
		return nil
	}
	return raw
}
