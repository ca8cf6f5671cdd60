package tungsten_test

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded are requests that were sent in this order to a fresh configuration server, and its answers.
//
//go:embed testdata/answers.jsonl
var recorded []byte

// recordedWatch are requests, and the events of change streams that they caused.
//
//go:embed testdata/watch.jsonl
var recordedWatch []byte

// TestRecordedAnswers replays what was sent to a real server. Texts of a crash may differ.
func TestRecordedAnswers(t *testing.T) {
	p := newPlayer(t)
	steps := readSteps(t, recorded)
	require.Len(t, steps, 733)
	for i, s := range steps {
		assert.NoErrorf(t, p.check(s, p.send(t.Context(), s)), "request %d, %s: %s %s", i, s.Name, s.Method, s.Path)
	}
}

// TestRecordedEvents replays what change streams of a real server sent. No event is expected where the next one is another's.
func TestRecordedEvents(t *testing.T) {
	p := newPlayer(t)
	steps := readSteps(t, recordedWatch)
	require.Len(t, steps, 64)
	var events *bufio.Scanner
	for i, s := range steps {
		switch {
		case s.Watch != "":
			a := p.send(t.Context(), escaped(s.Watch))
			t.Cleanup(func() { _ = a.stream.Close() }) // it ends the stream
			require.Equal(t, http.StatusOK, a.status)
			require.Equal(t, *s.Answer.ContentType, a.header.Get("Content-Type"))
			events = bufio.NewScanner(a.stream)
			events.Buffer(nil, 1<<20)
		case s.Event != nil && string(s.Event) != "null":
			name, data := nextEvent(t, events)
			require.JSONEq(t, string(s.Event), `"`+name+`"`, "line %d, %s", i, s.Cause)
			require.NoError(t, p.save(s, data))
			require.NoError(t, p.compare(s.Data, data, "", s.Unordered), "line %d, %s", i, s.Cause)
		case s.Method != "":
			require.NoError(t, p.check(s, p.send(t.Context(), s)), "line %d, %s", i, s.Name)
		}
	}
}

// nextEvent reads one event of a change stream.
func nextEvent(t *testing.T, in *bufio.Scanner) (name string, data any) {
	t.Helper()
	for in.Scan() {
		field, value, _ := strings.Cut(in.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			require.NoError(t, json.Unmarshal([]byte(value), &data))
		case "":
			return name, data
		}
	}
	require.NoError(t, in.Err())
	require.Fail(t, "the stream ended")
	return "", nil
}
