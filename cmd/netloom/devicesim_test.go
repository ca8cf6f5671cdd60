package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeviceSim(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	root := newRoot()
	root.SetArgs([]string{"device-sim", "--listen", "127.0.0.2:0"})
	root.SetOut(write)
	ended := make(chan error, 1)
	go func() {
		ended <- root.ExecuteContext(ctx)
		_ = write.Close()
	}()
	out := bufio.NewReader(read)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	m := regexp.MustCompile(`^serving (http://127\.0\.0\.2:\d+/cgi-bin/luci/), user root, password root1\n$`).FindStringSubmatch(line)
	require.NotNil(t, m, line)

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m[1]+"sdewan/firewall/v1/zones",
		strings.NewReader(`{"name": "lan", "network": ["net0"]}`))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusCreated, answer.StatusCode, string(body))
	http.DefaultClient.CloseIdleConnections()

	stop()
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Contains(t, string(rest), "package firewall\n")
	require.Contains(t, string(rest), "option name 'lan'\n")
}
