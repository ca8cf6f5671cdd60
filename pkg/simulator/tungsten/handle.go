package tungsten

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	largestBody = 1024000
	longestLine = 65535
	textType    = "text/html; charset=UTF-8"
	jsonType    = "application/json"
)

// answer is the answer to one request.
type answer struct {
	code   int
	kind   string // content type, "" for none
	body   []byte
	header http.Header
	cut    bool // the connection ends instead
}

func jsonAnswer(v any) answer { return answer{code: http.StatusOK, kind: jsonType, body: encode(v)} }

// emptyAnswer is success without a body.
func emptyAnswer() answer { return answer{code: http.StatusOK, kind: textType} }

func refusedAnswer(bad *refusal, requested string) answer {
	if bad.page {
		return answer{code: bad.code, kind: textType, body: []byte(errorPage(bad.code, requested, bad.text))}
	}
	return answer{code: bad.code, kind: textType, body: []byte(bad.text)}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.opts.Keystone && r.URL.Path == "/v3/auth/tokens" {
		s.issueToken(w, r)
		return
	}
	a := s.failing(s.count(r), r, func() answer {
		if a, ok := s.authenticate(r); !ok {
			return a
		}
		if r.Method == http.MethodGet && r.URL.Path == "/watch" {
			return s.watch(w, r)
		}
		return s.handle(r)
	})
	switch {
	case a.cut:
		panic(http.ErrAbortHandler) // which ends the connection
	case a.code == 0: // it was a stream
		return
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.kind != "" {
		w.Header().Set("Content-Type", a.kind)
	} else {
		w.Header()["Content-Type"] = nil // net/http must not guess one
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // the client may be gone
}

// call is one request being executed.
type call struct {
	*Server
	base  string // address of the server, as the client calls it
	path  string
	query url.Values
	body  any
	valid bool // the body is JSON
	r     *http.Request
}

// handle executes a request that is not a stream.
func (s *Server) handle(r *http.Request) answer {
	c := &call{Server: s, base: "http://" + r.Host, path: r.URL.Path, query: r.URL.Query(), r: r}
	if len(r.RequestURI) > longestLine {
		return answer{code: http.StatusRequestURITooLong}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, largestBody+1))
	switch {
	case err != nil:
		return answer{cut: true}
	case len(body) > largestBody:
		return refusedAnswer(&refusal{code: http.StatusRequestEntityTooLarge, text: "Request to large", page: true}, c.base+c.path)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == jsonType && len(bytes.TrimSpace(body)) > 0 {
		c.body, err = decode(body)
		c.valid = err == nil
	}
	if a, ok := c.special(); ok {
		return a
	}
	return c.resource()
}

// dict is the body as an object; ok is false if it is none.
func (c *call) dict() (dict, bool) {
	d, ok := c.body.(dict)
	return d, ok && c.valid
}

// refused is the answer of a refusal.
func (c *call) refused(bad *refusal) answer { return refusedAnswer(bad, c.base+c.path) }

// notFound is the answer for an unknown path.
func (c *call) notFound() answer {
	return c.refused(refuse(http.StatusNotFound, "Not found: '%s'", c.path))
}

// resource executes a request for an object or a list of a kind.
func (c *call) resource() answer {
	first, uuid, isObject := strings.Cut(strings.TrimPrefix(c.path, "/"), "/")
	name := first
	if !isObject {
		var plural bool
		if name, plural = strings.CutSuffix(first, "s"); !plural {
			return c.notFound()
		}
	}
	k := c.db.kinds[name]
	if k == nil || isObject && (uuid == "" || strings.Contains(uuid, "/")) {
		return c.notFound()
	}
	switch {
	case isObject && (c.r.Method == http.MethodGet || c.r.Method == http.MethodHead):
		return c.get(k, uuid)
	case isObject && c.r.Method == http.MethodPut:
		return c.put(k, uuid)
	case isObject && c.r.Method == http.MethodDelete:
		return c.delete(k, uuid)
	case !isObject && (c.r.Method == http.MethodGet || c.r.Method == http.MethodHead):
		params := make(map[string]string)
		for name := range c.query {
			params[name] = c.query.Get(name)
		}
		return c.list(k, params)
	case !isObject && c.r.Method == http.MethodPost:
		return c.post(k)
	}
	return c.refused(refuse(http.StatusMethodNotAllowed, "Method not allowed."))
}

// list executes a request for a list.
func (c *call) list(k *kind, params map[string]string) answer {
	q := &listQuery{params: params, base: c.base}
	if _, exclude := params["exclude_hrefs"]; exclude {
		q.base = ""
	}
	c.mu.Lock() // it may sort the list
	defer c.mu.Unlock()
	out, bad := c.db.listObjects(k, q)
	if bad != nil {
		return c.refused(bad)
	}
	return jsonAnswer(out)
}

// get executes a request for one object.
func (c *call) get(k *kind, uuid string) answer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	o := c.db.byUUID[uuid]
	switch {
	case o == nil:
		return c.refused(refuse(http.StatusNotFound, "Unknown id: %s", uuid))
	case o.kind != k:
		return c.refused(refuse(http.StatusNotFound, "No %s object found for id %s", k.name, uuid))
	}
	tag := `"` + stamp(o.modified) + `"`
	if c.r.Header.Get("If-None-Match") == tag {
		return answer{code: http.StatusNotModified}
	}
	v := view{base: c.base, perms: true, name: true, parent: true}
	if c.query.Has("exclude_hrefs") {
		v.base = ""
	}
	if fields := c.query.Get("fields"); fields != "" {
		v.fields = strings.Split(fields, ",")
	} else {
		v.all, v.back, v.children = true, !c.query.Has("exclude_back_refs"), !c.query.Has("exclude_children")
	}
	a := jsonAnswer(dict{{k.name, c.db.render(o, v)}})
	a.header = http.Header{"Etag": {tag}}
	return a
}

// post creates an object.
func (c *call) post(k *kind) answer {
	envelope, ok := c.dict()
	sent, _ := envelope.get(k.name)
	body, isObject := sent.(dict)
	if !ok || !isObject {
		return c.refused(crash(""))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.commit()
	o, bad := c.db.create(k, body)
	if bad != nil {
		return c.refused(bad)
	}
	code := http.StatusOK
	if pm := c.db.draftScope(k, o.parent); pm != nil {
		if bad := c.db.draftCreate(o, pm); bad != nil {
			return c.refused(bad)
		}
		code = http.StatusAccepted
	} else {
		c.db.add(o)
		c.db.afterCreate(o)
	}
	out := dict{{"name", o.name()}, {"fq_name", anys(o.fqName)}, {"uuid", o.uuid}, {"href", c.base + "/" + k.name + "/" + o.uuid}}
	out = append(out, o.parentMembers(view{base: c.base, name: true})...)
	a := jsonAnswer(dict{{k.name, out}})
	a.code = code
	return a
}

// put changes an object.
func (c *call) put(k *kind, uuid string) answer {
	envelope, ok := c.dict()
	if !ok {
		return c.refused(crash(""))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.commit()
	o := c.db.byUUID[uuid]
	if o == nil || o.kind != k {
		return c.refused(refuse(http.StatusNotFound, "Unknown id: %s", uuid))
	}
	sent, _ := envelope.get(k.name)
	body, isObject := sent.(dict)
	switch {
	case len(envelope) == 0 || isObject && len(body) == 0:
		return emptyAnswer()
	case !isObject:
		return c.refused(crash(""))
	}
	code := http.StatusOK
	if pm := c.db.draftScope(k, o.parent); pm != nil {
		o = c.db.draftCopy(o, pm, "updated")
		code = http.StatusAccepted
	}
	if bad := c.db.update(o, body); bad != nil {
		return c.refused(bad)
	}
	a := jsonAnswer(dict{{k.name, dict{{"uuid", uuid}, {"href", c.base + "/" + k.name + "/" + uuid}}}})
	a.code = code
	return a
}

// delete removes an object.
func (c *call) delete(k *kind, uuid string) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.commit()
	o := c.db.byUUID[uuid]
	switch {
	case o == nil:
		return c.refused(refuse(http.StatusNotFound, "ID %s does not exist", uuid))
	case o.kind != k:
		return c.refused(refuse(http.StatusNotFound, "No %s object found for id %s", k.name, uuid))
	}
	if bad := c.db.canDelete(o, c.base); bad != nil {
		return c.refused(bad)
	}
	a := emptyAnswer()
	if pm := c.db.draftScope(k, o.parent); pm != nil {
		c.db.draftCopy(o, pm, "deleted")
		a.code = http.StatusAccepted
		return a
	}
	c.db.delete(o)
	return a
}
