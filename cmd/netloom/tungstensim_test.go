package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTungstenSim(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	root := newRoot()
	root.SetArgs([]string{"tungsten-sim", "--listen", "127.0.0.2:0"})
	root.SetOut(write)
	ended := make(chan error, 1)
	go func() {
		ended <- root.ExecuteContext(ctx)
		_ = write.Close()
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	m := regexp.MustCompile(`^serving (http://127\.0\.0\.2:\d+)\n$`).FindStringSubmatch(line)
	require.NotNil(t, m, line)
	dir := t.TempDir()

	got := netloom(t, "apply", "-f", "../../examples", "--tungsten", m[1])
	require.Equal(t, exitUnprotected, got.code, got.errout+got.out)
	require.Contains(t, got.out, "create firewall-rule")
	require.Contains(t, got.errout, "shop/db-0 (no interface of kube-manager)")
	got = netloom(t, "drift", "-f", "../../examples", "--tungsten", m[1])
	require.Contains(t, got.out, "nothing to do")
	got = netloom(t, "plan", "-f", dir, "--tungsten", m[1], "--force")
	require.NotContains(t, got.out, "ACL", "there is no cost in flows")

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m[1]+"/firewall-rules?count=true", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Regexp(t, `^\{"firewall-rules":\{"count":[1-9]\d*\}\}$`, string(body))
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.NoError(t, <-ended)
}
