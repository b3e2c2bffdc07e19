package upstreamtest

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"mcpgateway/services/rawjson"
)

// newCall returns the Call of a request.
func (s *Server) newCall(m *message, era Era, v *session, h http.Header, p reply) *Call {
	c := &Call{
		Era: era, ID: m.id, Method: m.method, Params: m.rawParams, Header: h,
		params: m.params, reply: p, session: v, server: s,
	}
	if v != nil {
		c.Session = v.id
	}
	c.Name, _ = m.params.String("name")
	c.Arguments = m.params.Get("arguments")
	if t := m.meta.Get("progressToken"); rawjson.Kind(t) == '"' || rawjson.IsNumber(t) {
		c.token = t
	}
	return c
}

// respond responds to a request through c.reply, modified by hit.
func (s *Server) respond(ctx context.Context, c *Call, hit *Fault, b *behaviour) {
	if hit.is(EndlessSSE) {
		m := notification("notifications/message", []byte(`{"level":"info","data":"`+filler+`"}`))
		for ctx.Err() == nil && c.reply.notify(m) == nil {
		}
	}
	if hit.is(EndlessSSE, SilentSSE) {
		c.reply.finish(frame{skip: true})
		return
	}
	c.reply.finish(s.outcome(ctx, c, hit, b))
}

// outcome returns the response to a request.
func (s *Server) outcome(ctx context.Context, c *Call, hit *Fault, b *behaviour) frame {
	id := c.ID
	switch {
	case hit.is(WrongID):
		id = wrongID(id)
	case hit.is(JSONRPCError):
		e := hit.Error
		if e == nil {
			e = &RPCError{Code: -32603, Message: "injected error"}
		}
		return frame{head: appendError(nil, id, e)}
	case hit.is(Huge), hit.is(Gzip) && hit.Bytes > 0:
		return hugeFrame(id, c.Method, hit.Bytes)
	case hit.is(Raw, InvalidJSON, HTML): // over Streamable HTTP these already replaced the response
		body, _ := hit.rawBody(id)
		return frame{head: []byte(body)}
	}
	r := s.method(ctx, c, hit, b)
	f := frame{half: hit.is(DropHalf)}
	switch {
	case ctx.Err() != nil && s.life.Err() == nil:
		s.cancelled.Add(1)
		s.events.signal()
		f.skip = true
		f.head = appendError(nil, id, &RPCError{Code: codeServer, Message: "the request was cancelled"})
	case r.Err != nil:
		f.head = appendError(nil, id, r.Err)
		f.status = statusOf(c.Era, r.Err.Code)
	case r.JSON == nil:
		f.head = appendResult(nil, id, s.decorate(c, []byte("{}")))
	default:
		result := s.decorate(c, r.JSON)
		f.head = appendResult(make([]byte, 0, len(result)+len(id)+40), id, result)
	}
	return f
}

// statusOf returns the HTTP status of a JSON-RPC error. The stateless era
// defines some; otherwise it is 200.
func statusOf(era Era, code int) int {
	switch {
	case !era.Stateless():
	case code == codeMethodNotFound:
		return http.StatusNotFound
	case code <= codeHeaderMismatch && code >= codeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// method calls the method's implementation.
func (s *Server) method(ctx context.Context, c *Call, hit *Fault, b *behaviour) Result {
	if h := s.opts.Methods[c.Method]; h != nil {
		return h(ctx, c)
	}
	switch c.Method {
	case "tools/call":
		s.calls.Add(1)
		s.events.signal() // waiters may have checked between the recording and the call
		tool := b.tools.byName[c.Name]
		if tool == nil {
			return Error(codeInvalidParams, "Unknown tool: "+c.Name)
		}
		if k := rawjson.Kind(c.Arguments); k != 0 && k != '{' {
			return Error(codeInvalidParams, "Invalid params: arguments must be an object")
		}
		if tool.task != nil {
			return s.callTask(ctx, c, tool)
		}
		return tool.plain(ctx, c)
	case "tools/list":
		p, ok := b.tools.page(c.params, hit, c.Era.Stateless())
		if !ok {
			return Error(codeInvalidParams, "Invalid cursor")
		}
		out := append(make([]byte, 0, len(p)+256), '{')
		if c.Era.Stateless() {
			out = append(s.appendCacheable(out), ',')
		}
		return Result{JSON: append(append(out, p...), '}')}
	case "server/discover":
		if c.Era.Stateless() {
			out := append(s.appendCacheable([]byte{'{'}), `,"supportedVersions":`...)
			out = appendStrings(out, s.eras.all)
			return Result{JSON: append(s.appendSelf(out, true), '}')}
		}
	case "ping":
		if !c.Era.Stateless() {
			return JSON("{}")
		}
	}
	if r, ok := s.taskMethod(ctx, c); ok {
		return r
	}
	return Error(codeMethodNotFound, "Method not found: "+c.Method)
}

// initialize handles the handshake. The session is nil in sessionless mode.
func (s *Server) initialize(version string) Result {
	out := rawjson.AppendString([]byte(`{"protocolVersion":`), version)
	out = append(s.appendSelf(out, false), `,"serverInfo":`...)
	return Result{JSON: append(append(out, s.info...), '}')}
}

// appendSelf appends the members capabilities and instructions.
func (s *Server) appendSelf(dst []byte, stateless bool) []byte {
	dst = append(dst, `,"capabilities":`+s.withTasks(s.opts.Capabilities, stateless)...)
	if s.opts.Instructions != "" {
		dst = append(dst, `,"instructions":`...)
		dst = rawjson.AppendString(dst, s.opts.Instructions)
	}
	return dst
}

// serverInfo returns the server's info as JSON.
func (o *Options) serverInfo() []byte {
	info := rawjson.AppendString([]byte(`{"name":`), o.Name)
	info = append(info, `,"version":`...)
	return append(rawjson.AppendString(info, o.Version), '}')
}

// appendCacheable appends the members that the stateless era requires in a
// cacheable result.
func (s *Server) appendCacheable(dst []byte) []byte {
	dst = append(dst, `"resultType":"complete","ttlMs":`...)
	dst = strconv.AppendInt(dst, s.opts.TTL.Milliseconds(), 10)
	dst = append(dst, `,"cacheScope":`...)
	dst = rawjson.AppendString(dst, s.opts.CacheScope)
	dst = append(dst, `,"_meta":{"`+metaServerInfo+`":`...)
	return append(append(dst, s.info...), '}')
}

// cacheable are the methods of the stateless era whose results have ttlMs and
// cacheScope, except those created with them.
var cacheable = []string{"prompts/list", "resources/list", "resources/templates/list", "resources/read", "skills/list", "skills/get", "resources/directory/read"}

// decorate adds the members that the stateless era requires and the handler
// omitted. It returns a result that is not a JSON object unchanged.
func (s *Server) decorate(c *Call, raw []byte) []byte {
	built := (c.Method == "tools/list" || c.Method == "server/discover") && s.opts.Methods[c.Method] == nil
	if !c.Era.Stateless() || built {
		return raw
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return raw
	}
	if o.Get("resultType") == nil {
		o.Set("resultType", []byte(`"complete"`))
	}
	if kind, _ := o.String("resultType"); kind == "complete" && slices.Contains(cacheable, c.Method) {
		if o.Get("ttlMs") == nil {
			o.Set("ttlMs", strconv.AppendInt(nil, s.opts.TTL.Milliseconds(), 10))
		}
		if o.Get("cacheScope") == nil {
			o.Set("cacheScope", rawjson.Quote(s.opts.CacheScope))
		}
	}
	switch meta := o.Get("_meta"); {
	case meta == nil:
		o.Set("_meta", s.infoMeta)
	case o.Object("_meta").Get(metaServerInfo) == nil:
		setMeta(o, metaServerInfo, s.info)
	}
	return o.Bytes()
}
