package upstreamtest

import (
	"context"
	"net/http"
	"slices"

	"mcpgateway/services/rawjson"
)

// postModern handles a message of the stateless era.
func (s *Server) postModern(w http.ResponseWriter, r *http.Request, m *message, hit *Fault, b *behaviour) {
	version := r.Header.Get("Mcp-Protocol-Version")
	switch {
	case m.method == "":
		writeError(w, http.StatusBadRequest, m.id, codeInvalidRequest, "Invalid request: a client must not post responses")
		return
	case m.isNotification():
		if !slices.Contains(s.eras.modern, version) {
			s.refuseVersion(w, nil, version)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !s.checkModern(w, r, m, version, b) {
		return
	}
	ctx, cancel := context.WithCancel(r.Context()) // the end of the stream is the cancellation
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if m.method == "subscriptions/listen" && s.opts.Methods[m.method] == nil {
		s.listen(ctx, w, m)
		return
	}
	s.respond(ctx, s.newCall(m, Era(version), nil, r.Header, newReply(w, r, b, hit)), hit, b)
}

// checkModern compares the headers with the body (2026-07-28, transports and
// versioning). It returns false if the request was rejected.
func (s *Server) checkModern(w http.ResponseWriter, r *http.Request, m *message, version string, b *behaviour) bool {
	mismatch := func(text string) bool {
		writeError(w, http.StatusBadRequest, m.id, codeHeaderMismatch, "Header mismatch: "+text)
		return false
	}
	inBody, inMeta := m.meta.String(metaVersion)
	switch {
	case version == "":
		return mismatch("the MCP-Protocol-Version header is missing")
	case inMeta && inBody != version:
		return mismatch("MCP-Protocol-Version differs from _meta")
	}
	if bad := s.checkMeta(m); bad != nil {
		writeRPCError(w, http.StatusBadRequest, m.id, bad)
		return false
	}
	if r.Header.Get("Mcp-Method") != m.method {
		return mismatch("Mcp-Method differs from the method")
	}
	var named string
	switch m.method {
	case "tools/call", "prompts/get":
		named = "name"
	case "resources/read":
		named = "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		named = "taskId"
	default:
		return true
	}
	got, ok := decodeHeader(r.Header.Get("Mcp-Name"))
	if want, _ := m.params.String(named); !ok || got == "" || got != want {
		return mismatch("Mcp-Name differs from params." + named)
	}
	if m.method != "tools/call" {
		return true
	}
	if tool := b.tools.byName[got]; tool != nil {
		for _, p := range tool.params {
			if !p.matches(r.Header.Get(p.header), m.params.Get("arguments")) {
				return mismatch(p.header + " differs from the argument")
			}
		}
	}
	return true
}

// checkMeta returns the error for a request of the stateless era without the
// required members of _meta.
func (s *Server) checkMeta(m *message) *RPCError {
	switch version, ok := m.meta.String(metaVersion); {
	case !ok:
		return &RPCError{Code: codeInvalidParams, Message: "Invalid params: _meta must hold " + metaVersion}
	case !slices.Contains(s.eras.modern, version):
		return s.unsupported(version)
	case rawjson.Kind(m.meta.Get(metaCapabilities)) != '{':
		return &RPCError{Code: codeInvalidParams, Message: "Invalid params: _meta must hold " + metaCapabilities}
	}
	return nil
}

// refuseVersion responds with -32022 and the supported versions.
func (s *Server) refuseVersion(w http.ResponseWriter, id []byte, requested string) {
	writeRPCError(w, http.StatusBadRequest, id, s.unsupported(requested))
}

// unsupported returns the error -32022 with the supported versions.
func (s *Server) unsupported(requested string) *RPCError {
	data := appendStrings([]byte(`{"supported":`), s.eras.all)
	data = append(data, `,"requested":`...)
	data = append(rawjson.AppendString(data, requested), '}')
	return &RPCError{Code: codeUnsupportedVersion, Message: "Unsupported protocol version", Data: data}
}

// refuseHandshake responds to a client of an older era if only the stateless
// one is supported.
func (s *Server) refuseHandshake(w http.ResponseWriter, r *http.Request, m *message) {
	if v, ok := m.params.String("protocolVersion"); ok && m.method == "initialize" {
		s.refuseVersion(w, m.id, v)
		return
	}
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" {
		s.refuseVersion(w, m.id, v)
		return
	}
	writeError(w, http.StatusBadRequest, m.id, codeHeaderMismatch, "Header mismatch: the MCP-Protocol-Version header is missing")
}

// listen serves subscriptions/listen: the acknowledgement, the requested
// notifications, and a result when the server ends it.
func (s *Server) listen(ctx context.Context, w http.ResponseWriter, m *message) {
	l, ack, bad := s.subscribe(m)
	if bad != nil {
		writeRPCError(w, http.StatusOK, m.id, bad)
		return
	}
	t := s.openStream(ctx, nil, l) // before the client is notified of it
	defer s.closeStream(t)
	startEvents(w)
	rc := http.NewResponseController(w)
	if ack.writeEvent(w, "") != nil || rc.Flush() != nil {
		return
	}
	if !l.empty() && !s.pump(w, t) {
		return
	}
	if l.end().writeEvent(w, "") == nil {
		_ = rc.Flush() // the client may be gone
	}
}

// subscribe returns the subscriptions of a subscriptions/listen request and the
// acknowledgement.
func (s *Server) subscribe(m *message) (*listen, frame, *RPCError) {
	want := m.params.Object("notifications")
	if want == nil {
		return nil, frame{}, &RPCError{Code: codeInvalidParams, Message: "Invalid params: notifications is required"}
	}
	on := func(name string) bool { return string(want.Get(name)) == "true" }
	l := &listen{id: m.id, tools: on("toolsListChanged"), prompts: on("promptsListChanged"), resources: on("resourcesListChanged")}
	agreed := []byte(`{"notifications":{`)
	add := func(granted bool, member string) {
		if !granted {
			return
		}
		if agreed[len(agreed)-1] != '{' {
			agreed = append(agreed, ',')
		}
		agreed = append(agreed, member...)
	}
	add(l.tools, `"toolsListChanged":true`)
	add(l.prompts, `"promptsListChanged":true`)
	add(l.resources, `"resourcesListChanged":true`)
	uris, bad := stringsOf(want, "resourceSubscriptions")
	if bad != nil {
		return nil, frame{}, bad
	}
	l.uris = uris
	add(len(l.uris) > 0, `"resourceSubscriptions":`+string(appendStrings(nil, l.uris)))
	if want.Get("taskIds") != nil {
		ids, bad := stringsOf(want, "taskIds")
		if bad != nil {
			return nil, frame{}, bad
		}
		s.mu.Lock()
		l.tasks = slices.DeleteFunc(ids, func(id string) bool { return s.tasks[id] == nil })
		s.mu.Unlock()
		add(true, `"taskIds":`+string(appendStrings(nil, l.tasks)))
	}
	agreed = withMeta(append(agreed, '}', '}'), metaSubscription, m.id)
	return l, frame{head: notification("notifications/subscriptions/acknowledged", agreed)}, nil
}

// stringsOf returns the strings of the array with this name. It is empty if the
// array is missing.
func stringsOf(o *rawjson.Object, name string) ([]string, *RPCError) {
	raw := o.Get(name)
	if raw == nil {
		return nil, nil
	}
	elements, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return nil, &RPCError{Code: codeInvalidParams, Message: "Invalid params: " + name + " must be an array"}
	}
	var list []string
	for _, e := range elements {
		if v, ok := rawjson.String(e); ok {
			list = append(list, v)
		}
	}
	return list, nil
}

func (l *listen) empty() bool {
	return !l.tools && !l.prompts && !l.resources && len(l.uris)+len(l.tasks) == 0
}

// end returns the response to a subscriptions/listen that the server ends.
func (l *listen) end() frame {
	return frame{head: appendResult(nil, l.id, withMeta([]byte(`{"resultType":"complete"}`), metaSubscription, l.id))}
}
