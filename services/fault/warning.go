package fault

// Warning is a remark beside an answer that is given all the same, in the
// form that page envelopes show (contract, "Catalog query grammar"). Span,
// where there is one, is the clause of the query that it is about.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Span    *Span  `json:"span,omitempty"`
}
