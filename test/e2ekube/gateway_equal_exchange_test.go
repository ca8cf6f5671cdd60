//go:build e2e

package e2ekube_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/client-go/kubernetes/scheme"
)

// exchange is a request that is sent on each leg. In path, query and body, NS stands for the namespace of the leg.
type exchange struct {
	name   string // for what fails; empty is method, path and query
	method string // empty is GET
	path   string
	query  string
	header http.Header
	body   string
	token  string // in place of the administrator's certificate
	moving bool   // the answer has versions, times and UIDs that every leg has its own of
	worded bool   // a gateway says in its own words why it refuses the request
}

// answered is what a client sees of an answer.
type answered struct {
	code   int
	header http.Header
	body   []byte
}

// own are headers that every answer has its own of. Content-Length depends on names, and CBOR on the order of fields, which is random.
var own = []string{"Date", "Audit-Id", "Content-Length"}

// fairness are the headers of API Priority and Fairness. What a gateway answers itself was not subject to it.
var fairness = []string{"X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"}

// moves matches what differs between two objects that were written in the same way, in JSON and YAML.
var moves = []*regexp.Regexp{
	regexp.MustCompile(`"?(?:uid|resourceVersion|creationTimestamp|deletionTimestamp|time|remainingItemCount|continue|expirationTimestamp|renewTime)"?: ?"?[^",}\n]+"?`),
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`\b(?:resource version|Precondition failed: [^"]*|requested: )[^"]*`),
	regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`),
	regexp.MustCompile(`in record \(\d+\)`),
	regexp.MustCompile(`10\.96\.\d+\.\d+|fd00:96::[0-9a-f:]+`),
	regexp.MustCompile(`generated-[a-z0-9]+`),
}

// age is how old an object is in a Table; words are those of a Status.
var (
	age   = regexp.MustCompile(`"\d+[smh](\d+s)?"`)
	words = regexp.MustCompile(`"message":"(?:[^"\\]|\\.)*"|,"details":\{[^}]*\}`)
)

// send sends x on a leg.
func (e *equal) send(l *leg, x exchange) answered {
	e.t.Helper()
	named := strings.NewReplacer("NS", l.namespace)
	target, err := url.Parse(l.config.Host + named.Replace(x.path))
	require.NoError(e.t, err)
	target.RawQuery = named.Replace(x.query)
	if x.method == "" {
		x.method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(e.t.Context(), x.method, target.String(), strings.NewReader(named.Replace(x.body)))
	require.NoError(e.t, err)
	maps.Copy(request.Header, x.header)
	through := l.http
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	request = request.WithContext(ctx)
	if x.token != "" {
		request.Header.Set("Authorization", "Bearer "+x.token)
		through = l.anonymous
	}
	response, err := through.RoundTrip(request)
	require.NoError(e.t, err, "%s: %s", l.name, x)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(e.t, err, "%s: %s", l.name, x)
	got := answered{response.StatusCode, response.Header.Clone(), body}
	for _, name := range own {
		got.header.Del(name)
	}
	switch kind := got.header.Get("Content-Type"); {
	case kind == asProtobuf && x.moving:
		got.body = e.decoded(got.body)
	case kind == asCBOR:
		var content any
		require.NoError(e.t, cbor.Unmarshal(got.body, &content), "%s: %s: %q", l.name, x, body)
		got.body, err = json.Marshal(content)
		require.NoError(e.t, err)
	}
	if at := got.header.Get("Location"); at != "" {
		got.header.Set("Location", strings.TrimPrefix(at, l.config.Host))
	}
	if strings.Contains(x.path, "NS") {
		got.body = bytes.ReplaceAll(got.body, []byte(l.namespace), []byte("NS"))
	}
	if strings.Contains(x.header.Get("Accept"), "as=Table") {
		got.body = age.ReplaceAll(got.body, []byte(`"…"`))
	}
	if x.worded {
		got.body = words.ReplaceAll(got.body, nil)
	}
	if x.moving {
		got.body = managedInOrder(got.body)
		for _, m := range moves {
			got.body = m.ReplaceAll(got.body, []byte("…"))
		}
	}
	return got
}

// managedInOrder sorts the managedFields of objects in JSON by their contents: an API server puts those of one operation in the order of their
// times, which are in seconds, and of two writes it depends on the clock whether they are of one second.
func managedInOrder(body []byte) []byte {
	const field = `"managedFields":`
	var out []byte
	for {
		at := bytes.Index(body, []byte(field))
		if at < 0 {
			return append(out, body...)
		}
		at += len(field)
		out, body = append(out, body[:at]...), body[at:]
		var all []json.RawMessage
		decoder := json.NewDecoder(bytes.NewReader(body))
		if decoder.Decode(&all) != nil {
			continue // it is text in a value
		}
		body = body[decoder.InputOffset():]
		timeless := func(entry json.RawMessage) string { return moves[0].ReplaceAllString(string(entry), "") }
		slices.SortFunc(all, func(a, b json.RawMessage) int { return strings.Compare(timeless(a), timeless(b)) })
		sorted, err := json.Marshal(all)
		if err != nil {
			continue
		}
		out = append(out, sorted...)
	}
}

func (x exchange) String() string {
	if x.name != "" {
		return x.name
	}
	return strings.TrimSpace(fmt.Sprint(x.method, " ", x.path, "?", x.query, " ", x.header))
}

// compare sends the exchanges one after the other on each leg, and counts answers that differ from the direct ones.
func (e *equal) compare(all ...exchange) {
	e.t.Helper()
	for _, x := range all {
		e.row().answers++
		var want answered
		for i, l := range e.legs {
			got := e.send(l, x)
			if i == 0 {
				want = got
				continue
			}
			if e.sharing(l) && got.header.Get(fairness[0]) == "" {
				want = e.comparable(&got, want)
			}
			if text := got.differs(want); text != "" {
				e.row().differ[i]++
				e.t.Errorf("%s: %s: %s", l.name, x, text)
			}
		}
	}
}

// sharing reports whether the gateway of l may answer itself.
func (e *equal) sharing(l *leg) bool { return l == e.legs[2] }

// comparable prepares an answer from a shared watch and a direct one for their comparison. Those who accept JSON too get it in place of
// protobuf and CBOR, with the same content.
func (e *equal) comparable(got *answered, want answered) answered {
	e.t.Helper()
	want.header = want.header.Clone()
	for _, name := range fairness {
		want.header.Del(name)
	}
	const kind = "Content-Type"
	if got.code == http.StatusOK && got.header.Get(kind) == asJSON && slices.Contains([]string{asProtobuf, asCBOR}, want.header.Get(kind)) {
		want.header.Set(kind, asJSON)
		if bytes.HasPrefix(want.body, []byte("k8s\x00")) {
			want.body = e.decoded(want.body)
			got.body = e.decoded(got.body)
		} else { // CBOR has been decoded to JSON with its fields in order
			var content any
			require.NoError(e.t, json.Unmarshal(got.body, &content))
			got.body, _ = json.Marshal(content) // what has been decoded can be encoded
		}
	}
	return want
}

// decoded is an object in JSON, whatever its representation was.
func (e *equal) decoded(raw []byte) []byte {
	e.t.Helper()
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	require.NoError(e.t, err)
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	raw, err = json.Marshal(object)
	require.NoError(e.t, err)
	return raw
}

// differs describes how an answer differs from another, empty if it does not.
func (a answered) differs(want answered) string {
	var all []string
	if a.code != want.code {
		all = append(all, fmt.Sprintf("status %d, directly %d", a.code, want.code))
	}
	names := slices.Sorted(maps.Keys(a.header))
	for name := range want.header {
		if _, ok := a.header[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !slices.Equal(a.header[name], want.header[name]) {
			all = append(all, fmt.Sprintf("%s %q, directly %q", name, a.header[name], want.header[name]))
		}
	}
	if !bytes.Equal(a.body, want.body) {
		at := 0
		for at < min(len(a.body), len(want.body)) && a.body[at] == want.body[at] {
			at++
		}
		from := max(0, at-40)
		all = append(all, fmt.Sprintf("body of %d bytes, directly %d, from %d: %.200q, directly %.200q", len(a.body), len(want.body), at, a.body[from:], want.body[from:]))
	}
	return strings.Join(all, "; ")
}
