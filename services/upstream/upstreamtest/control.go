package upstreamtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Control returns a handler that serves the server, GET /stats with its
// counters, and POST /control with settings in the query, which configure a
// server in another process. Absent settings are unchanged, but every request
// replaces all faults:
//
//	tools=20            Standard(20), announced as a changed list
//	page=50             tools per page
//	answer=json         auto, json or sse // language:ignore
//	latency=5ms         before every response
//	hang=list           never respond: accept, any, initialize, list, call, stream
//	status=503          respond to calls with this HTTP status
//	every=3             only every third call gets the status
//	drop=sessions       drop the sessions; drop=streams ends the streams
//
// An invalid setting is HTTP 400 and changes nothing. Use it only on loopback
// addresses: anyone who can reach it controls the server.
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Stats()) // the client may be gone
	})
	mux.HandleFunc("POST /control", func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" && !loopbackOrigin(o) {
			http.Error(w, "Forbidden: this Origin may not use the server", http.StatusForbidden)
			return
		}
		steps, err := s.settings(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, step := range steps {
			step()
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == s.opts.Path { // ahead of the multiplexer, to stay cheap
			s.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// settings validates a query and returns its changes.
func (s *Server) settings(q url.Values) ([]func(), error) {
	var steps []func()
	var faults []Fault
	refused := Fault{On: OnCall, Kind: Status}
	for name, values := range q {
		value := values[0]
		var err error
		switch name {
		case "tools":
			var n int
			if n, err = wholeNumber(value); err == nil {
				steps = append(steps, func() { s.SetTools(Standard(n)...) })
			}
		case "page":
			var n int
			if n, err = wholeNumber(value); err == nil {
				steps = append(steps, func() { s.SetPageSize(n) })
			}
		case "answer":
			var mode ResponseMode
			if mode, err = ParseAnswer(value); err == nil {
				steps = append(steps, func() { s.SetAnswer(mode) })
			}
		case "latency":
			var d time.Duration
			if d, err = time.ParseDuration(value); err == nil {
				faults = append([]Fault{{Kind: Delay, Latency: d}}, faults...)
			}
		case "hang":
			var f Fault
			if f, err = ParseHang(value); err == nil {
				faults = append(faults, f)
			}
		case "status":
			refused.Status, err = wholeNumber(value)
			if err == nil && (refused.Status < 200 || refused.Status > 599) {
				err = fmt.Errorf("%d is not a final HTTP status", refused.Status)
			}
		case "every":
			refused.Every, err = wholeNumber(value)
		case "drop":
			switch value {
			case "sessions":
				steps = append(steps, func() { s.DropSessions() })
			case "streams":
				steps = append(steps, func() { s.CloseStreams() })
			default:
				err = errors.New("use sessions or streams")
			}
		default:
			err = errors.New("unknown setting")
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, value, err)
		}
	}
	if refused.Status > 0 {
		faults = append(faults, refused)
	}
	return append(steps, func() { s.SetFault(faults...) }), nil
}

func wholeNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1_000_000 {
		return 0, errors.New("use a whole number from 0 to 1000000")
	}
	return n, nil
}

// ParseAnswer returns the mode called auto, json or sse.
func ParseAnswer(s string) (ResponseMode, error) {
	switch s {
	case "auto":
		return AnswerAuto, nil
	case "json":
		return AnswerJSON, nil
	case "sse":
		return AnswerSSE, nil
	}
	return 0, fmt.Errorf("invalid answer mode %q: use auto, json or sse", s)
}

// ParseHang returns the fault that never responds: accept, any, initialize,
// list, call or stream.
func ParseHang(s string) (Fault, error) {
	switch s {
	case "any":
		return Fault{On: OnAny, Kind: Hang}, nil
	case OnAccept, OnInitialize, OnList, OnCall, OnStream:
		return Fault{On: s, Kind: Hang}, nil
	}
	return Fault{}, fmt.Errorf("invalid hang %q: use accept, any, initialize, list, call or stream", s)
}

// ParseEras returns the revisions in a comma-separated list. all means every
// revision, stateless 2026-07-28, and sse 2024-11-05.
func ParseEras(s string) ([]Era, error) {
	var list []Era
	for word := range strings.SplitSeq(s, ",") {
		switch word = strings.TrimSpace(word); word {
		case "all":
			list = append(list, AllEras()...)
		case "stateless":
			list = append(list, Era20260728)
		case "sse":
			list = append(list, Era20241105)
		default:
			if _, err := time.Parse(time.DateOnly, word); err != nil {
				return nil, fmt.Errorf("invalid protocol revision %q: use dates such as 2025-11-25, or all, stateless, sse", word)
			}
			list = append(list, Era(word))
		}
	}
	return list, nil
}
