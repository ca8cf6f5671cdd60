package openwrt_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
)

// script is a device that answers with given bytes, whatever it is asked, one answer for each request, and keeps what it
// was sent.
type script struct {
	mu      sync.Mutex
	answers []string
	sent    []string
}

func (s *script) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go s.serve(ours)
	return theirs, nil
}

func (s *script) serve(nc net.Conn) {
	defer func() { _ = nc.Close() }() // the client notices
	in := bufio.NewReader(nc)
	for {
		var b strings.Builder
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			b.WriteString(line)
			if digits, ok := strings.CutPrefix(strings.TrimSpace(line), "Content-Length: "); ok {
				for _, c := range digits {
					length = length*10 + int(c-'0')
				}
			}
			if line == "\r\n" {
				break
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		s.mu.Lock()
		s.sent = append(s.sent, b.String()+string(body))
		answer := ""
		if len(s.answers) > 0 {
			answer, s.answers = s.answers[0], s.answers[1:]
		}
		s.mu.Unlock()
		if answer == "" {
			return
		}
		if _, err := io.WriteString(nc, answer); err != nil || strings.Contains(answer, "Connection: close") {
			return
		}
	}
}

// requests is what was sent so far.
func (s *script) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

func scripted(t *testing.T, answers ...string) (*openwrt.Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	c, err := openwrt.New(openwrt.Options{
		URL: "http://10.1.2.3", Dial: s.dial, Password: func(context.Context) (string, error) { return password, nil },
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, s
}

// says is an answer as the device's server frames it; headers are whole lines.
func says(status, headers, body string) string {
	connection := "Connection: Keep-Alive\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=20\r\n"
	chunk := ""
	if body != "" {
		chunk = strconv.FormatInt(int64(len(body)), 16) + "\r\n" + body + "\r\n"
	}
	return "HTTP/1.1 " + status + "\r\n" + connection + headers + "\r\n" + chunk + "0\r\n\r\n"
}

const (
	isJSON = "Content-Type: application/json\r\n"
	isText = "Content-Type: text/plain\r\n"
)

// loggedIn answers a login.
func loggedIn() string {
	return says("302 Found", "Set-Cookie: sysauth=0123456789abcdef0123456789abcdef; path=/cgi-bin/luci/; SameSite=Strict; HttpOnly\r\n"+
		"Location: /cgi-bin/luci/\r\n", "")
}

// refused answers what wants a login.
func refused() string {
	return says("403 Forbidden", "X-LuCI-Login-Required: yes\r\nContent-Type: text/html; charset=utf-8\r\n", "<html>")
}

// TestRequests compares what a client sends with the bytes that a device expects.
func TestRequests(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: 10.1.2.3\r\nUser-Agent: netloom\r\n"
	const cookie = "Cookie: sysauth=0123456789abcdef0123456789abcdef\r\n"
	c, device := scripted(t, loggedIn(),
		says("201 ", isJSON, `{"network":["net0"],"name":"lan","input":"ACCEPT"}`),
		refused(), loggedIn(), says("201 ", isJSON, "null"),
		says("400 Field[src] checked failed", isText, `{"message":"Field[src] checked failed: invalid src [Zone[x] is not definied] "a""}`))
	kept, err := c.Create(t.Context(), openwrt.Zones, openwrt.ObjectOf(lan()))
	require.NoError(t, err)
	require.Equal(t, openwrt.ObjectOf(lan()), kept)
	_, err = c.Put(t.Context(), openwrt.PolicyRules, openwrt.Object{"name": "r-1", "src_ip": "10.0.0.0/8"})
	require.True(t, openwrt.IsLoss(err), "%v", err)
	_, err = c.Get(t.Context(), openwrt.Forwardings, "f")
	require.EqualError(t, err, `GET sdewan/firewall/v1/forwardings/f: 400: Field[src] checked failed: invalid src [Zone[x] is not definied] "a"`)
	require.True(t, openwrt.IsDependencyMissing(err))
	login := "POST /cgi-bin/luci/" + head + "Content-Length: 44\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n" +
		"luci_password=p%26ss+w0rd&luci_username=root"
	put := "PUT /cgi-bin/luci/sdewan/mwan3/v1/rules/r-1" + head + "Content-Length: 36\r\nContent-Type: application/json\r\n" + cookie +
		"\r\n" + `{"name":"r-1","src_ip":"10.0.0.0/8"}`
	require.Equal(t, []string{
		login,
		"POST /cgi-bin/luci/sdewan/firewall/v1/zones" + head + "Content-Length: 50\r\nContent-Type: application/json\r\n" + cookie +
			"\r\n" + `{"input":"ACCEPT","name":"lan","network":["net0"]}`,
		put, login, put,
		"GET /cgi-bin/luci/sdewan/firewall/v1/forwardings/f" + head + cookie + "\r\n",
	}, device.requests())
}

// TestRefusedAgain logs in again when a session has ended, and does not try a third time when the new one is refused too.
func TestRefusedAgain(t *testing.T) {
	c, device := scripted(t, loggedIn(), says("200 OK", isJSON, `{"zones":[]}`), refused(), loggedIn(), refused(), loggedIn(), says("200 OK", isJSON, `{"zones":[]}`))
	_, err := c.List(t.Context(), openwrt.Zones)
	require.NoError(t, err)
	_, err = c.List(t.Context(), openwrt.Zones)
	require.ErrorIs(t, err, openwrt.ErrUnauthorized)
	var sent []string
	for _, r := range device.requests() {
		line, _, _ := strings.Cut(r, " HTTP")
		sent = append(sent, line)
	}
	const login, list = "POST /cgi-bin/luci/", "GET /cgi-bin/luci/sdewan/firewall/v1/zones"
	require.Equal(t, []string{login, list, list, login, list}, sent)
}

// TestBadAnswers checks the errors for malformed answers, and that they quote nothing of them.
func TestBadAnswers(t *testing.T) {
	body := func(code, text string) string {
		return "HTTP/1.1 " + code + "\r\nContent-Length: " + strconv.Itoa(len(text)) + "\r\n\r\n" + text
	}
	leak := "HTTP/1.1 200 OK\r\n" + `{"pre_shared_key": "test_key/1"}` + "\r\nContent-Length: 2\r\n\r\n[]"
	list := func(c *openwrt.Client, ctx context.Context) error {
		_, err := c.List(ctx, openwrt.Remotes)
		return err
	}
	create := func(c *openwrt.Client, ctx context.Context) error {
		_, err := c.Create(ctx, openwrt.Remotes, openwrt.ObjectOf(hub()))
		return err
	}
	for _, tc := range []struct {
		name   string
		answer string
		call   func(*openwrt.Client, context.Context) error
		want   string
	}{
		{"a leak in an answer to a read", leak, list, "GET sdewan/ipsec/v1/remotes: the response is not HTTP"},
		{"and to a write", leak, create, "POST sdewan/ipsec/v1/remotes: outcome of the write unknown: the response is not HTTP"},
		{"another protocol", "test_key/1\r\n\r\n", list, "GET sdewan/ipsec/v1/remotes: the response is not HTTP"},
		{"no answer to a write", "", create, "POST sdewan/ipsec/v1/remotes: outcome of the write unknown: the connection ended"},
		{"half an answer", "HTTP/1.1 201 \r\nConnection: close\r\nContent-Length: 9\r\n\r\n{", create, "POST sdewan/ipsec/v1/remotes: outcome of the write unknown: the connection ended"},
		{"not JSON", body("200 OK", "test_key/1"), list, "GET sdewan/ipsec/v1/remotes: unexpected response"},
		{"not JSON after a write", body("201 ", "test_key/1"), create, "POST sdewan/ipsec/v1/remotes: outcome of the write unknown: unexpected response"},
		{"another list", body("200 OK", `{"zones":[]}`), list, "GET sdewan/ipsec/v1/remotes: unexpected response"},
		{"a list with nothing in it", body("200 OK", `{"remotes":[null]}`), list, "GET sdewan/ipsec/v1/remotes: unexpected response"},
		{"a secret in a message", body("400 test_key/1", `{"message":"bad test_key\/1 p&ss w0rd"}`), create, "POST sdewan/ipsec/v1/remotes: 400: bad (redacted) (redacted)"},
		{"a redirect", "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", list, "GET sdewan/ipsec/v1/remotes: 302"},
		{"too much", body("200 OK", strings.Repeat(" ", 9<<20)), list, "GET sdewan/ipsec/v1/remotes: response too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, device := scripted(t, loggedIn(), tc.answer)
			err := tc.call(c, t.Context())
			require.EqualError(t, err, tc.want)
			requireNoSecret(t, err.Error())
			if tc.answer != "" {
				require.Len(t, device.requests(), 2, "asked once")
			}
		})
	}
	t.Run("a login without a session", func(t *testing.T) {
		c, _ := scripted(t, body("200 OK", "test_key/1"))
		require.EqualError(t, list(c, t.Context()), "GET sdewan/ipsec/v1/remotes: log in as root: response 200 without a session")
	})
	t.Run("an empty session", func(t *testing.T) {
		c, _ := scripted(t, "HTTP/1.1 302 Found\r\nSet-Cookie: sysauth=\r\nContent-Length: 0\r\n\r\n")
		require.EqualError(t, list(c, t.Context()), "GET sdewan/ipsec/v1/remotes: log in as root: response 302 without a session")
	})
	t.Run("a password that is refused", func(t *testing.T) {
		c, device := scripted(t, refused())
		err := list(c, t.Context())
		require.ErrorIs(t, err, openwrt.ErrUnauthorized)
		requireNoSecret(t, err.Error())
		require.Len(t, device.requests(), 1)
	})
	t.Run("refused twice", func(t *testing.T) {
		c, device := scripted(t, loggedIn(), refused(), loggedIn(), refused())
		_, err := c.List(t.Context(), openwrt.Zones)
		require.ErrorIs(t, err, openwrt.ErrUnauthorized)
		require.Len(t, device.requests(), 2, "a fresh session is not renewed")
	})
	t.Run("no device", func(t *testing.T) {
		c, err := openwrt.New(openwrt.Options{
			URL:      "http://10.1.2.3",
			Dial:     func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") },
			Password: func(context.Context) (string, error) { return password, nil },
		})
		require.NoError(t, err)
		err = create(c, t.Context())
		require.EqualError(t, err, "POST sdewan/ipsec/v1/remotes: log in as root: connect: no route")
	})
}

// TestLeakyStatus reads a status with a key in its header block and another in its body.
func TestLeakyStatus(t *testing.T) {
	answer := says("200 OK", `{".anonymous": false,".type":"remote",".name":"hub","pre_shared_key":"test_key\/1"}`+"\r\n"+isJSON,
		`[{"name":"wan","status":{"pre_shared_key":"test_key\/1","a":1}}]`)
	c, device := scripted(t, loggedIn(), answer)
	modules, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []openwrt.Module{{Name: "wan", Status: []byte(`{"a":1,"pre_shared_key":"(redacted)"}`)}}, modules)
	require.Equal(t, "GET /cgi-bin/luci/sdewan/v1/status HTTP/1.1\r\nHost: 10.1.2.3\r\nUser-Agent: netloom\r\nConnection: close\r\n"+
		"Cookie: sysauth=0123456789abcdef0123456789abcdef\r\n\r\n", device.requests()[1])
}
