package openwrt

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/httpcall"
)

const (
	longestLine = 256     // bytes of a header line that are read
	longestHead = 4 << 20 // bytes of a header block, keys and certificates of every remote included
)

// exchangeTolerantly sends req on a separate connection and reads the answer whatever its header block contains.
func (c *Client) exchangeTolerantly(req *http.Request, limit int64) (reply, error) {
	ctx := req.Context()
	host := req.URL.Host
	if req.URL.Port() == "" {
		host = net.JoinHostPort(req.URL.Hostname(), map[string]string{"http": "80", "https": "443"}[req.URL.Scheme])
	}
	nc, err := c.opts.Dial(ctx, "tcp", host)
	if err != nil {
		return reply{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() }) // pending reads and writes then fail
	defer func() {
		stop()
		_ = nc.Close() // the answer is complete, or not needed: its error does not matter
	}()
	var rw io.ReadWriter = nc
	if c.tls != nil {
		secure := tls.Client(nc, c.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return reply{}, err
		}
		rw = secure
	}
	req.Close = true
	if err := req.Write(rw); err != nil {
		return reply{}, err
	}
	return readResponse(bufio.NewReader(rw), limit)
}

// readResponse reads one answer. Of its header block it reads the status and the length of the body; every other line,
// even if malformed, is dropped unread. No error quotes anything that was read.
func readResponse(in *bufio.Reader, limit int64) (reply, error) {
	left := longestHead
	for {
		line, err := readLine(in, &left)
		if err != nil {
			return reply{}, err
		}
		code, err := parseStatus(line)
		if err != nil {
			return reply{}, err
		}
		length, chunked, err := readHead(in, &left)
		if err != nil {
			return reply{}, err
		}
		if chunked && strings.HasPrefix(line, "HTTP/1.0 ") { // its framing is faulty, by RFC 9112, section 6.1
			return reply{}, httpcall.ErrNotHTTP
		}
		if code < 200 { // an interim answer
			continue
		}
		var body io.Reader = in
		switch {
		case code == http.StatusNoContent || code == http.StatusNotModified:
			body = http.NoBody
		case chunked:
			body = httputil.NewChunkedReader(in)
		case length >= 0:
			body = io.LimitReader(in, length)
		}
		got, err := io.ReadAll(io.LimitReader(body, limit+1))
		switch {
		case err != nil && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
			return reply{}, io.ErrUnexpectedEOF
		case err != nil:
			return reply{}, bodyError(err)
		case int64(len(got)) > limit:
			return reply{}, ErrTooLarge
		case !chunked && int64(len(got)) < length:
			return reply{}, io.ErrUnexpectedEOF
		}
		return reply{code: code, body: got}, nil
	}
}

// bodyError returns an error of the connection as it is and replaces any other, which might quote the answer.
func bodyError(err error) error {
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return httpcall.ErrNotHTTP
}

// readLine reads a line and returns its start, without the line break. left is how much may still be read.
func readLine(in *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return "", ErrTooLarge
		}
		if room := longestLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		switch {
		case err == nil:
			return strings.TrimRight(string(line), "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return "", io.ErrUnexpectedEOF
		default:
			return "", err
		}
	}
}

// parseStatus reads the first line of an answer.
func parseStatus(line string) (int, error) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(code, 10, 16)
	if err != nil || len(code) != 3 || n < 100 || !strings.HasPrefix(version, "HTTP/1.") {
		return 0, httpcall.ErrNotHTTP
	}
	return int(n), nil
}

// readHead reads to the end of a header block. length is that of the body, -1 if it is not given.
func readHead(in *bufio.Reader, left *int) (length int64, chunked bool, err error) {
	length = -1
	for {
		line, err := readLine(in, left)
		if err != nil {
			return 0, false, err
		}
		if line == "" {
			return length, chunked, nil
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "transfer-encoding":
			if !strings.EqualFold(value, "chunked") {
				return 0, false, httpcall.ErrNotHTTP
			}
			chunked = true
		case "content-length":
			n, err := strconv.ParseUint(value, 10, 62)
			if err != nil || length >= 0 && length != int64(n) {
				return 0, false, httpcall.ErrNotHTTP
			}
			length = int64(n)
		}
	}
}
