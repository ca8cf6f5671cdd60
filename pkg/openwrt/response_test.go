package openwrt

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/httpcall"
)

// leaked is how a device prints a remote into the header block.
const leaked = `{".anonymous": false,".type":"remote",".name":"hub","pre_shared_key":"test_key","gateway":"10.10.10.35"}` + "\r\n"

func TestReadResponse(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		wantCode  int
		want      string
		wantErr   error
	}{
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n", 200, "[]", nil},
		{"of a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", 200, "[]", nil},
		{"to the end", "HTTP/1.0 200 OK\r\n\r\n[]", 200, "[]", nil},
		{"no reason at all", "HTTP/1.1 201 \r\ncontent-length:0\r\n\r\n", 201, "", nil},
		{"a leak before the headers", "HTTP/1.1 200 OK\r\n" + leaked + leaked + "Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n", 200, "[]", nil},
		{"a line without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\n folded\r\n: none\r\nContent-Length: 2\r\n\r\n[]", 200, "[]", nil},
		{"plain line ends", "HTTP/1.1 200 OK\nContent-Length: 2\n\n[]", 200, "[]", nil},
		{"a very long leak", "HTTP/1.1 200 OK\r\n" + strings.Repeat("x", 100_000) + "\r\nContent-Length: 2\r\n\r\n[]", 200, "[]", nil},
		{"an answer before the answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", 200, "[]", nil},
		{"chunked wins", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n", 200, "[]", nil},
		{"too long", "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + strings.Repeat("x", 101), 0, "", ErrTooLarge},
		{"as long as may be", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 100), 200, strings.Repeat("x", 100), nil},
		{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[]", 0, "", io.ErrUnexpectedEOF},
		{"cut in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n[]", 0, "", io.ErrUnexpectedEOF},
		{"cut before the end of chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n", 0, "", io.ErrUnexpectedEOF},
		{"cut in the headers", "HTTP/1.1 200 OK\r\nContent-Le", 0, "", io.ErrUnexpectedEOF},
		{"nothing", "", 0, "", io.ErrUnexpectedEOF},
		{"not HTTP", "SSH-2.0-dropbear\r\n", 0, "", httpcall.ErrNotHTTP},
		{"no code", "HTTP/1.1 OK\r\n\r\n", 0, "", httpcall.ErrNotHTTP},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[]", 0, "", httpcall.ErrNotHTTP},
		{"a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n[]", 0, "", httpcall.ErrNotHTTP},
		{"an unknown encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n[]", 0, "", httpcall.ErrNotHTTP},
		{"a chunk of no length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ntest_key\r\n", 0, "", httpcall.ErrNotHTTP},
		{"an endless header block", "HTTP/1.1 200 OK\r\n" + strings.Repeat(strings.Repeat("x", 1000)+"\r\n", 5000), 0, "", ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := readResponse(bufio.NewReader(strings.NewReader(tc.raw)), 100)
			require.ErrorIs(t, err, tc.wantErr)
			require.Equal(t, tc.wantCode, got.code)
			require.Equal(t, tc.want, string(got.body))
		})
	}
}

// TestGoQuotesTheLeak shows why this package reads status answers itself.
func TestGoQuotesTheLeak(t *testing.T) {
	raw := "HTTP/1.1 200 OK\r\n" + leaked + "Content-Length: 2\r\n\r\n[]"
	_, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil) //nolint:bodyclose // There is none.
	require.ErrorContains(t, err, "test_key")
	require.EqualError(t, httpcall.Safe(err), httpcall.ErrNotHTTP.Error())
}

// FuzzReadResponse checks that an answer is read within bounds, that no error quotes it, and that net/http, where it
// can read an answer, reads the same.
func FuzzReadResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "HTTP/1.1 200 OK\r\n" + leaked + "\r\n[]",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n", "HTTP/1.1 201 \r\n\r\n", "HTTP/1.1 100 \r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	const limit = 64
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := readResponse(bufio.NewReader(bytes.NewReader(raw)), limit)
		if err != nil {
			known := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrTooLarge) || errors.Is(err, httpcall.ErrNotHTTP)
			require.True(t, known, "%v", err)
			require.Zero(t, got)
			return
		}
		require.LessOrEqual(t, len(got.body), limit)
		require.GreaterOrEqual(t, got.code, 200)
		require.Less(t, got.code, 1000)
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
		if err != nil || resp.StatusCode < 200 {
			return
		}
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
		if err == nil {
			require.Equal(t, resp.StatusCode, got.code)
			require.Equal(t, string(body), string(got.body))
		}
	})
}
