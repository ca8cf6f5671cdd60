package tungsten

import (
	"crypto/subtle"
	"io"
	"net/http"
)

// authenticate checks the credentials of a request; ok is false if they are refused.
func (s *Server) authenticate(r *http.Request) (refused answer, ok bool) {
	switch {
	case s.opts.User == "", r.URL.Path == "/":
		return answer{}, true
	case s.opts.Keystone:
		s.mu.RLock()
		defer s.mu.RUnlock()
		if s.tokens[r.Header.Get("X-Auth-Token")] {
			return answer{}, true
		}
		return answer{
			code: http.StatusUnauthorized, kind: "text/plain", body: []byte("Authentication required"),
			header: http.Header{"Www-Authenticate": {"Keystone uri='http://" + r.Host + "/v3'"}},
		}, false
	}
	user, password, _ := r.BasicAuth()
	if same(user, s.opts.User) && same(password, s.opts.Password) {
		return answer{}, true
	}
	return refusedAnswer(&refusal{code: http.StatusUnauthorized, text: "Access denied", page: true}, "http://"+r.Host+r.URL.Path), false
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// issueToken is Keystone's answer to a request for a token.
func (s *Server) issueToken(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(io.LimitReader(r.Body, largestBody)) // what is incomplete is refused
	body, _ := decode(raw)
	user := body
	for _, name := range []string{"auth", "identity", "password", "user"} {
		d, _ := user.(dict)
		user, _ = d.get(name)
	}
	d, _ := user.(dict)
	if r.Method != http.MethodPost || !same(d.text("name"), s.opts.User) || !same(d.text("password"), s.opts.Password) {
		http.Error(w, `{"error":{"code":401,"message":"The request you have made requires authentication."}}`, http.StatusUnauthorized)
		return
	}
	token := newUUID()
	s.mu.Lock()
	s.tokens[token] = true
	s.mu.Unlock()
	w.Header().Set("X-Subject-Token", token)
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"token":{}}`)) // the client may be gone
}
