package openwrt_test

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// recorded are requests that were sent in this order to a real device, and its answers. The device had its factory
// configuration and the interfaces that the simulated one has by default. One request and answer is one line of JSON.
//
//go:embed testdata/answers.jsonl
var recorded []byte

// pairs are further such recordings, each on a device of its own, of what a request that fails leaves behind.
//
//go:embed testdata/pairs/*.jsonl
var pairs embed.FS

// exchange is one request and the answer to it.
type exchange struct {
	Method      string  `json:"method"`
	Path        string  `json:"path"` // below /cgi-bin/luci/
	Body        *string `json:"body"`
	ContentType string  `json:"content_type"` // of the request
	Answer      struct {
		Status      int    `json:"status"`
		ContentType string `json:"content_type"`
		Body        string `json:"body"`
	} `json:"answer"`
}

func exchanges(t *testing.T, recorded []byte) []exchange {
	t.Helper()
	var all []exchange
	in := bufio.NewScanner(bytes.NewReader(recorded))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var e exchange
		require.NoError(t, json.Unmarshal(in.Bytes(), &e))
		all = append(all, e)
	}
	require.NoError(t, in.Err())
	return all
}

// TestRecordedAnswers replays what was sent to a real device. The words of a fault and of a page in HTML may differ.
func TestRecordedAnswers(t *testing.T) {
	all := exchanges(t, recorded)
	require.Len(t, all, 311)
	replay(t, all)
}

// TestRecordedPairs replays the other recordings.
func TestRecordedPairs(t *testing.T) {
	files, err := pairs.ReadDir("testdata/pairs")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			recorded, err := pairs.ReadFile("testdata/pairs/" + f.Name())
			require.NoError(t, err)
			replay(t, exchanges(t, recorded))
		})
	}
}

// replay sends requests to a new device and compares its answers.
func replay(t *testing.T, all []exchange) {
	t.Helper()
	d := newDevice(t, simulator.Options{})
	for i, e := range all {
		status, contentType, body := send(t, d, e)
		name := fmt.Sprintf("request %d: %s %s", i, e.Method, e.Path)
		want := e.Answer
		if !assert.Equal(t, want.Status, status, "%s: %s", name, body) {
			continue
		}
		assert.Equal(t, want.ContentType, contentType, name)
		switch {
		case want.Status == http.StatusInternalServerError, want.ContentType == "text/html":
		case want.ContentType == "application/json":
			assert.JSONEq(t, want.Body, body, name) // bytes that are not UTF-8 are replaced on both sides
		default:
			assert.Equal(t, want.Body, body, name)
		}
	}
}

// send sends one request and returns the answer's status, content type and body.
func send(t *testing.T, d *simulator.Device, e exchange) (int, string, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: d.Dial, DisableKeepAlives: true}}
	var in io.Reader
	if e.Body != nil {
		in = strings.NewReader(*e.Body)
	}
	req, err := http.NewRequestWithContext(t.Context(), e.Method, "http://device/cgi-bin/luci/"+e.Path, in)
	require.NoError(t, err)
	if e.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.ContentType != "" {
		req.Header.Set("Content-Type", e.ContentType)
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(body)
}
