package tungsten_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
)

// step is one line of a recording.
type step struct {
	Name        string            `json:"name"`
	Method      string            `json:"method"`
	Path        string            `json:"path"`
	Body        json.RawMessage   `json:"body"`
	Raw         *string           `json:"raw"`
	ContentType string            `json:"content_type"`
	Headers     map[string]string `json:"headers"`
	Answer      expectation       `json:"answer"`
	Save        map[string]string `json:"save"`
	Unordered   []string          `json:"unordered"`

	Watch string          `json:"watch"`
	Event json.RawMessage `json:"event"` // null means that there is none
	Data  any             `json:"data"`
	Cause string          `json:"caused_by"`
	Pause float64         `json:"pause"`
}

// expectation is the recorded answer.
type expectation struct {
	Status      int               `json:"status"`
	ContentType *string           `json:"content_type"`
	Body        any               `json:"body"`
	Text        *string           `json:"text"`
	Headers     map[string]string `json:"headers"`
}

// player replays a recording on a server.
type player struct {
	t      *testing.T
	client *http.Client
	vars   map[string]string
}

func newPlayer(t *testing.T) *player {
	t.Helper()
	s := simulator.New(simulator.Options{})
	transport := &http.Transport{DialContext: s.Dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	return &player{t: t, client: &http.Client{Transport: transport}, vars: map[string]string{"BASE": "http://controller:8082"}}
}

func readSteps(t *testing.T, recording []byte) []step {
	t.Helper()
	var out []step
	for line := range bytes.Lines(recording) {
		var s step
		require.NoError(t, json.Unmarshal(line, &s), string(line))
		out = append(out, s)
	}
	return out
}

var variable = regexp.MustCompile(`\$\{(repeat:\d+:[^}]*|[A-Za-z0-9_]+)\}`)

// expand replaces the variables in a text.
func (p *player) expand(s string) string {
	return variable.ReplaceAllStringFunc(s, func(m string) string {
		name := m[2 : len(m)-1]
		if rest, ok := strings.CutPrefix(name, "repeat:"); ok {
			count, text, _ := strings.Cut(rest, ":")
			n, err := strconv.Atoi(count)
			require.NoError(p.t, err)
			return strings.Repeat(text, n)
		}
		value, ok := p.vars[name]
		require.True(p.t, ok, "variable %s", name)
		return value
	})
}

// answered is the answer to a step.
type answered struct {
	status int
	header http.Header
	body   []byte
	stream io.ReadCloser // instead of body, of a change stream
}

// send sends the request of a step.
func (p *player) send(ctx context.Context, s step) answered {
	var in io.Reader
	kind := "application/json"
	switch {
	case s.Raw != nil:
		in = strings.NewReader(p.expand(*s.Raw))
	case s.Body != nil:
		in = strings.NewReader(p.expand(string(s.Body)))
	default:
		kind = ""
	}
	if s.ContentType != "" {
		kind = s.ContentType
	}
	req, err := http.NewRequestWithContext(ctx, s.Method, p.vars["BASE"], in)
	require.NoError(p.t, err)
	path, query, _ := strings.Cut(p.expand(s.Path), "?")
	req.URL.Path, req.URL.RawQuery = path, strings.ReplaceAll(query, " ", "%20")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for name, value := range s.Headers {
		req.Header.Set(name, p.expand(value))
	}
	resp, err := p.client.Do(req)
	require.NoError(p.t, err, s.Name)
	if s.Watch != "" {
		return answered{status: resp.StatusCode, header: resp.Header, stream: resp.Body}
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err, s.Name)
	return answered{status: resp.StatusCode, header: resp.Header, body: body}
}

// check compares the answer to a step with the recorded one.
func (p *player) check(s step, a answered) error {
	want := s.Answer
	if a.status != want.Status {
		return fmt.Errorf("status %d, want %d: %s", a.status, want.Status, a.body)
	}
	got, wantType := a.header.Get("Content-Type"), ""
	if want.ContentType != nil {
		wantType = *want.ContentType
	}
	if got != wantType {
		return fmt.Errorf("content type %q, want %q", got, wantType)
	}
	var value any
	if want.Body != nil {
		in := json.NewDecoder(bytes.NewReader(a.body))
		in.UseNumber()
		if err := in.Decode(&value); err != nil {
			return fmt.Errorf("body: %w", err)
		}
	}
	if err := p.save(s, value); err != nil {
		return err
	}
	for name, wantValue := range want.Headers {
		if got := a.header.Get(name); got == "" || wantValue != "*" && got != p.expand(wantValue) {
			return fmt.Errorf("header %s %q, want %q", name, got, wantValue)
		}
	}
	switch {
	case want.Body != nil:
		return p.compare(want.Body, value, "", s.Unordered)
	case want.Text != nil && want.Status != http.StatusInternalServerError && s.Method != http.MethodHead:
		return p.compareText(*want.Text, string(a.body))
	}
	return nil
}

// save stores the parts of a value that later steps refer to.
func (p *player) save(s step, value any) error {
	for name, pointer := range s.Save {
		found := value
		for _, part := range strings.Split(pointer, "/")[1:] {
			switch v := found.(type) {
			case map[string]any:
				found = v[part]
			case []any:
				i, err := strconv.Atoi(part)
				if err != nil || i >= len(v) {
					return fmt.Errorf("save %s: no %s", name, pointer)
				}
				found = v[i]
			default:
				return fmt.Errorf("save %s: no %s", name, pointer)
			}
		}
		p.vars[name] = fmt.Sprint(found)
	}
	return nil
}

// compareText compares a text with one that may contain ${*}.
func (p *player) compareText(want, got string) error {
	parts := strings.Split(want, "${*}")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(p.expand(parts[i]))
	}
	pattern := "(?s)^" + strings.Join(parts, ".*") + "$"
	if len(pattern) < 1000 {
		if !regexp.MustCompile(pattern).MatchString(got) {
			return fmt.Errorf("text %q, want %q", got, p.expand(strings.ReplaceAll(want, "${*}", "…")))
		}
		return nil
	}
	if p.expand(want) != got {
		return fmt.Errorf("text %q, want %q", got, p.expand(want))
	}
	return nil
}

// compare compares values: "*" is any, and arrays at the pointers in unordered have no order.
func (p *player) compare(want, got any, at string, unordered []string) error {
	switch want := want.(type) {
	case string:
		if want == "*" {
			return nil
		}
		if s, ok := got.(string); !ok || s != p.expand(want) {
			return fmt.Errorf("%s: %v, want %q", at, got, p.expand(want))
		}
		return nil
	case map[string]any:
		return p.compareObject(want, got, at, unordered)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s: %v, want %v", at, got, want)
		}
		if matchesAny(at, unordered) {
			return p.compareBag(want, list, at, unordered)
		}
		for i := range want {
			if err := p.compare(want[i], list[i], at+"/"+strconv.Itoa(i), unordered); err != nil {
				return err
			}
		}
		return nil
	default:
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			return fmt.Errorf("%s: %s, want %s", at, b, a)
		}
		return nil
	}
}

func (p *player) compareObject(want map[string]any, got any, at string, unordered []string) error {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %v, want an object", at, got)
	}
	for name := range object {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%s/%s: %v, want none", at, name, object[name])
		}
	}
	for name := range want {
		value, ok := object[name]
		if !ok {
			return fmt.Errorf("%s/%s: none, want %v", at, name, want[name])
		}
		if err := p.compare(want[name], value, at+"/"+name, unordered); err != nil {
			return err
		}
	}
	return nil
}

// compareBag compares arrays without their order.
func (p *player) compareBag(want, got []any, at string, unordered []string) error {
	left := append([]any(nil), got...)
	for i, w := range want {
		var first error
		found := -1
		for j, g := range left {
			err := p.compare(w, g, at+"/"+strconv.Itoa(i), unordered)
			if err == nil {
				found = j
				break
			}
			if first == nil {
				first = err
			}
		}
		if found < 0 {
			return fmt.Errorf("%s: nothing equals element %d: %w", at, i, first)
		}
		left = append(left[:found], left[found+1:]...)
	}
	return nil
}

func matchesAny(at string, pointers []string) bool {
	for _, pointer := range pointers {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(pointer), `\*`, `\d+`) + "$"
		if regexp.MustCompile(pattern).MatchString(at) {
			return true
		}
	}
	return false
}

// escaped is for paths of watches, which contain no variables.
func escaped(path string) step {
	u, _ := url.Parse(path)
	return step{Method: http.MethodGet, Path: u.String(), Watch: path}
}
