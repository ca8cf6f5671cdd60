package watchcache

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxRequirements limits the selectors of a query: they are evaluated for every event.
const maxRequirements = 64

// basis is the version that an answer is based on.
type basis int

const (
	recent  basis = iota // the most recent when the request arrived
	anyone               // whatever is at hand: resourceVersion=0
	atLeast              // not older than a version
	exactly              // a version, and nothing else
)

// query is a list or watch that the history may be able to answer.
type query struct {
	kind      *kind
	namespace string
	watch     bool
	labels    labels.Selector
	fields    fields.Selector
	basis     basis
	version   uint64
	limit     int
	after     string // the key after which a page begins

	initial   bool // a watch begins with the present objects
	marked    bool // and a bookmark that ends them
	bookmarks bool
	timeout   time.Duration

	trim Trim
	gzip bool
}

// parse returns the query of a request, or false if it is not one that a history answers.
func (c *Cache) parse(r *http.Request) (*query, bool) {
	if r.Method != http.MethodGet || r.URL.RawPath != "" || r.Header.Get("Upgrade") != "" || !acceptsJSON(r.Header.Values("Accept")) {
		return nil, false
	}
	k, namespace := c.find(r.URL.Path)
	if k == nil {
		return nil, false
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, false
	}
	q := &query{kind: k, namespace: namespace, gzip: acceptsGzip(r.Header.Values("Accept-Encoding"))}
	if t := c.config.Trimming; t != nil && r.Header.Get(t.Header) == t.Value {
		q.trim = t.Trim
	}
	v := values{parameters, true}
	q.watch = v.boolean("watch")
	if q.selectors(&v); !v.ok {
		return nil, false // there are no selectors to go on with
	}
	if t := v.take("timeout"); t != "" { // limits short requests; client-go sends it with watches, too
		_, err := time.ParseDuration(t)
		v.ok = v.ok && err == nil
	}
	if q.watch {
		q.watchOptions(&v)
	} else {
		q.listOptions(&v)
	}
	return q, v.ok && len(v.Values) == 0
}

// find returns the kind whose list has a path, and the namespace in it.
func (c *Cache) find(path string) (*kind, string) {
	if k := c.kinds[path]; k != nil {
		return k, ""
	}
	const marker = "/namespaces/"
	before, rest, ok := strings.Cut(path, marker)
	namespace, plural, more := strings.Cut(rest, "/")
	if !ok || !more || len(validation.IsDNS1123Label(namespace)) > 0 || strings.Contains(plural, "/") {
		return nil, ""
	}
	k := c.kinds[before+"/"+plural]
	if k == nil || !k.Namespaced {
		return nil, ""
	}
	return k, namespace
}

// values takes parameters one by one; what is left at the end is unknown.
type values struct {
	url.Values
	ok bool
}

func (v *values) take(name string) string {
	all := v.Values[name]
	delete(v.Values, name)
	if len(all) > 1 {
		v.ok = false
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

func (v *values) boolean(name string) bool {
	s := v.take(name)
	switch s {
	case "true", "1":
		return true
	case "", "false", "0":
	default:
		v.ok = false
	}
	return false
}

func (v *values) number(name string) int {
	s := v.take(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		v.ok = false
	}
	return int(n)
}

func (q *query) selectors(v *values) {
	var err, err2 error
	q.labels, err = labels.Parse(v.take("labelSelector"))
	q.fields, err2 = fields.ParseSelector(v.take("fieldSelector"))
	if err != nil || err2 != nil {
		v.ok = false
		return
	}
	if all, _ := q.labels.Requirements(); len(all)+len(q.fields.Requirements()) > maxRequirements {
		v.ok = false
	}
	for _, r := range q.fields.Requirements() {
		v.ok = v.ok && q.kind.selectable(r.Field)
	}
}

// based sets the version that resourceVersion asks for; strict is the meaning of a number.
func (q *query) based(s string, strict basis) bool {
	switch s {
	case "":
		q.basis = recent
	case "0":
		q.basis = anyone
	default:
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil || n == 0 {
			return false
		}
		q.basis, q.version = strict, n
	}
	return true
}

// listOptions reads the parameters of a list. The table of the API's documentation, "Resource versions in the get and list
// operations", says what they mean together; combinations that it does not allow are left to the upstream.
func (q *query) listOptions(v *values) {
	q.limit = v.number("limit")
	token, version, match := v.take("continue"), v.take("resourceVersion"), metav1.ResourceVersionMatch(v.take("resourceVersionMatch"))
	v.take("allowWatchBookmarks") // the API ignores these in a list
	v.number("timeoutSeconds")
	if token != "" {
		v.ok = v.ok && version == "" && match == "" && q.resume(token)
		return
	}
	strict := atLeast
	if match == metav1.ResourceVersionMatchExact || (match == "" && q.limit > 0) {
		strict = exactly
	}
	v.ok = v.ok && q.based(version, strict)
	switch match {
	case "":
	case metav1.ResourceVersionMatchNotOlderThan:
		v.ok = v.ok && q.basis != recent
	case metav1.ResourceVersionMatchExact:
		v.ok = v.ok && q.basis == exactly
	default:
		v.ok = false
	}
	if q.basis == anyone {
		q.limit = 0 // as in an API server
	}
	if q.basis == recent {
		v.ok = false // the upstream answers sooner than the history catches up
	}
	if _, one := q.fields.RequiresExactMatch(fieldName); one {
		v.ok = false // an API server gets this object, whatever the version
	}
}

// watchOptions reads the parameters of a watch, see "Semantics for watch" in the API's documentation.
func (q *query) watchOptions(v *values) {
	version, match, send := v.take("resourceVersion"), metav1.ResourceVersionMatch(v.take("resourceVersionMatch")), v.take("sendInitialEvents")
	q.bookmarks = v.boolean("allowWatchBookmarks")
	q.timeout = time.Duration(v.number("timeoutSeconds")) * time.Second
	if send == "" {
		v.ok = v.ok && match == "" && q.based(version, exactly)
		q.initial = q.basis != exactly
		return
	}
	q.initial, q.marked = true, true
	v.ok = v.ok && send == "true" && q.bookmarks && match == metav1.ResourceVersionMatchNotOlderThan && q.based(version, atLeast)
}

// token is the form of the API's continue tokens, so that the upstream understands those of this package, and the reverse.
type token struct {
	APIVersion string `json:"v"`
	Version    int64  `json:"rv"`
	Start      string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1" //nolint:gosec // no secret

func (q *query) resume(s string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	var t token
	if err != nil || json.Unmarshal(raw, &t) != nil || t.APIVersion != tokenVersion || t.Version <= 0 {
		return false
	}
	last, ok := strings.CutSuffix(t.Start, "\x00")
	last = strings.TrimPrefix(last, "/")
	if !ok || last == "" {
		return false
	}
	q.basis, q.version, q.after = exactly, uint64(t.Version), q.prefix()+last
	return true
}

// token continues a list after a key.
func (q *query) token(version uint64, last string) string {
	start := "/" + strings.TrimPrefix(last, q.prefix()) + "\x00"
	raw, err := json.Marshal(token{tokenVersion, int64(version), start}) //nolint:gosec // etcd counts in int64
	if err != nil {
		return "" // strings and numbers always have a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// prefix is how the keys of the query's namespace begin.
func (q *query) prefix() string {
	if q.namespace == "" {
		return ""
	}
	return q.namespace + "/"
}

// matches reports whether the query selects o, which may be nil.
func (q *query) matches(o *object) bool {
	return o != nil && (q.namespace == "" || q.namespace == o.namespace) && q.labels.Matches(o.labels) && q.fields.Matches(o.fields)
}

// scope returns the scope of the query's watch.
func (q *query) scope() scope {
	s := scope{namespace: q.namespace}
	if q.kind.selectable(fieldNode) {
		s.node, _ = q.fields.RequiresExactMatch(fieldNode)
	}
	return s
}

// acceptsJSON reports whether plain JSON answers a request with these Accept headers. JSON is given to those who prefer
// protobuf and accept JSON too, as Kubernetes' clients do; another representation of the objects, such as Table, is not.
func acceptsJSON(accept []string) bool {
	all := strings.Join(accept, ",")
	if strings.TrimSpace(all) == "" {
		return true
	}
	for clause := range strings.SplitSeq(all, ",") {
		media, parameters, err := mime.ParseMediaType(clause)
		if err != nil {
			return false
		}
		delete(parameters, "charset")
		delete(parameters, "stream") // which streams of a watch
		if len(parameters) > 0 {
			return false // another representation, or a weight, which the upstream knows how to weigh
		}
		if slices.Contains([]string{"application/json", "*/*", "application/*"}, media) {
			return true
		}
	}
	return false
}

func acceptsGzip(accept []string) bool {
	for clause := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		if strings.TrimSpace(clause) == "gzip" {
			return true
		}
	}
	return false
}
