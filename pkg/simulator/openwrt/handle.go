package openwrt

import (
	"crypto/rand"
	"encoding/hex"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const greeting = `{"message":"sdewan restful API service v1"}`

// handle answers one request.
func (d *Device) handle(req *http.Request, body []byte) answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	var a answer
	if d.daemon.respawn == nil {
		a = d.dispatch(req, body)
	} else {
		a = wrong(fault("utils", "attempt to index a nil value")) // nothing works without the configuration daemon
	}
	if d.daemon.lost {
		a.after, d.daemon.lost = d.opts.Patience, false
	}
	path, _, _ := strings.Cut(req.RequestURI, "?")
	d.record.note(Request{Method: req.Method, Path: path, Code: a.code, Login: isLogin(path)}, a.cut)
	return a
}

func isLogin(path string) bool { return len(parts(path, "/")) == 2 }

// dispatch finds the handler. The tree knows paths without a query; the scripts see the whole address.
func (d *Device) dispatch(req *http.Request, body []byte) answer {
	path, _, _ := strings.Cut(req.RequestURI, "?")
	at := parts(path, "/")
	if len(at) < 2 || at[0] != "cgi-bin" || at[1] != "luci" {
		return html(404, "Not Found", "Not Found")
	}
	at = at[2:]
	switch {
	case len(at) == 0:
		return d.login(req, body)
	case at[0] == "admin":
		return d.admin(req, at)
	case at[0] != "sdewan":
		return html(404, "Not Found", "No page is registered at '/"+strings.Join(at, "/")+"'.")
	case d.opts.Strict && !d.session(req):
		return loginPage()
	default:
		return d.rest(req, body, at[1:])
	}
}

func loginPage() answer {
	return html(403, "Forbidden", "Authorization Required", "X-LuCI-Login-Required: yes")
}

// session reports whether a request has the cookie of a session.
func (d *Device) session(req *http.Request) bool {
	return slices.ContainsFunc(req.Cookies(), func(c *http.Cookie) bool { return c.Name == "sysauth" && d.sessions[c.Value] })
}

// login opens a session. A valid one is reused, whatever the form contains.
func (d *Device) login(req *http.Request, body []byte) answer {
	if d.session(req) {
		return html(200, "OK", "LuCI")
	}
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	form, err := url.ParseQuery(string(body))
	if req.Method != http.MethodPost || kind != "application/x-www-form-urlencoded" || err != nil ||
		form.Get("luci_username") != "root" || form.Get("luci_password") != d.opts.Password {
		return loginPage()
	}
	token := make([]byte, 16)
	_, _ = rand.Read(token) // never fails
	d.sessions[hex.EncodeToString(token)] = true
	cookie := "Set-Cookie: sysauth=" + hex.EncodeToString(token) + "; path=/cgi-bin/luci/; SameSite=Strict; HttpOnly"
	if d.opts.TLS {
		cookie += "; secure"
	}
	return answer{code: 302, reason: "Found", headers: []string{cookie, "Location: /cgi-bin/luci/"}}
}

// admin handles the part that requires a session. Only logging out does something.
func (d *Device) admin(req *http.Request, at []string) answer {
	if !d.session(req) {
		return loginPage()
	}
	if len(at) != 2 || at[1] != "logout" {
		return html(404, "Not Found", "Not Found")
	}
	for _, c := range req.Cookies() {
		delete(d.sessions, c.Value)
	}
	return answer{code: 302, reason: "Found", headers: []string{
		"Set-Cookie: sysauth=; expires=Thu, 01 Jan 1970 01:00:00 GMT; path=/cgi-bin/luci/", "Location: /cgi-bin/luci/",
	}}
}

// rest answers below sdewan/.
func (d *Device) rest(req *http.Request, body []byte, at []string) answer {
	raw := parts(req.RequestURI, "/")
	switch {
	case len(at) == 1 && at[0] == "v1", len(at) == 2 && at[1] == "v1" && slices.Contains(modules(), at[0]):
		return answer{code: 200, reason: "OK", headers: []string{"Content-Type: application/json"}, body: []byte(greeting)}
	case len(at) >= 2 && at[0] == "v1":
		switch at[1] {
		case "services":
			return d.services(req, at)
		case "service":
			return d.service(req, body, raw)
		case "status":
			return d.status(req, raw)
		}
	case len(at) >= 3 && at[1] == "v1":
		for _, c := range collections() {
			if c.module == at[0] && c.plural == at[2] {
				return d.collection(c, req, body, raw)
			}
		}
	}
	return html(404, "Not Found", "No page is registered at '/sdewan/"+strings.Join(at, "/")+"'.")
}

func modules() []string {
	return []string{"mwan3", "firewall", "networkfirewall", "ipsec", "service", "application", "route", "rule", "nat"}
}

// collections are those of every device: nothing changes them.
var collections = sync.OnceValue(func() []*collection {
	return slices.Concat(mwan3Collections(), firewallCollections(), ipsecCollections(), natCollections(),
		networkFirewallCollections(), routeCollections())
})

// The numbers of parts in an address, cgi-bin and luci included.
const (
	collectionParts = 6
	itemParts       = 7
)

// collection handles requests for one kind of object.
func (d *Device) collection(c *collection, req *http.Request, body []byte, raw []string) answer {
	want := map[string]int{http.MethodPost: collectionParts, http.MethodPut: itemParts, http.MethodDelete: itemParts}[req.Method]
	switch {
	case req.Method == http.MethodGet:
		if len(raw) != collectionParts && len(raw) != itemParts {
			return wrong(refuse(400, "Bad request URI"))
		}
	case want == 0:
		return wrong(refuse(405, "Method Not Allowed"))
	case len(raw) != want:
		return wrong(refuse(400, "Bad request URI"))
	}
	if raw[collectionParts-1] != c.plural {
		return wrong(fault("utils", "attempt to index field '?' (a nil value)")) // a query is mistaken for part of the name
	}
	if c.creates {
		d.pkg(c.pkg).missing = false
	}
	name := raw[len(raw)-1]
	if req.Method == http.MethodGet {
		if len(raw) == collectionParts {
			return right(200, "OK")(c.list(d))
		}
		return right(200, "OK")(c.item(d, name))
	}
	return d.write(req.Method == http.MethodPut, func(between func() *refusal) answer {
		if req.Method == http.MethodDelete {
			if no := c.drop(d, name, true); no != nil {
				return wrong(no)
			}
			return success()
		}
		src, a := decodeBody(req, body)
		if a != nil {
			return *a
		}
		if d.refuses(c, src) {
			return wrong(refuse(400, "Bad request"))
		}
		if req.Method == http.MethodPost {
			return right(201, "")(c.post(d, src))
		}
		return right(200, "OK")(c.put(d, name, src, between))
	})
}

// refuses asks whether an object is refused.
func (d *Device) refuses(c *collection, src any) bool {
	fields, _ := src.(map[string]any)
	name, _ := fields["name"].(string)
	return d.faults.refuse != nil && d.faults.refuse(c.module+"/"+c.plural, name)
}

// decodeBody reads a body, or returns the error answer.
func decodeBody(req *http.Request, body []byte) (any, *answer) {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data" {
		a := wrong(fault("utils", "bad argument #1 to 'parse' (string expected, got nil)")) // the body was mistaken for a form
		return nil, &a
	}
	if req.ContentLength < 0 {
		body = nil // a body without a length is ignored
	}
	src, no := decode(body)
	if no != nil {
		a := wrong(no)
		return nil, &a
	}
	if src == nil {
		return nil, &answer{code: 200, reason: "OK", headers: []string{"Content-Type: text/html"}}
	}
	return src, nil
}

// right makes the answer with a value, unless there is an error.
func right(code int, reason string) func(any, *refusal) answer {
	return func(v any, no *refusal) answer {
		if no != nil {
			return wrong(no)
		}
		return answer{code: code, reason: reason, headers: []string{"Content-Type: application/json"}, body: encode(v)}
	}
}

func success() answer {
	return answer{code: 200, reason: "OK", headers: []string{"Content-Type: text/plain"}, body: []byte(`{"message":"success"}`)}
}

// wrong formats an error answer. Its message is unescaped in what is almost JSON, and repeated in the reason.
func wrong(no *refusal) answer {
	a := answer{code: no.code, reason: no.text, headers: []string{"Content-Type: text/plain"}}
	if no.raw {
		a.reason, a.body = "Internal Server Error", []byte(no.text)
		return a
	}
	a.body = []byte(`{"message":"` + no.text + `"}`)
	return a
}
