package fault

// Warning is a non-fatal problem in the form of page envelopes (contract,
// "Catalog query grammar"). Span is the query clause it concerns, if any.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Span    *Span  `json:"span,omitempty"`
}
