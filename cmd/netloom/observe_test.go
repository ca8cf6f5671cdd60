package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/inputs/acllog/acllogtest"
	"github.com/netloom/netloom/pkg/offline"
)

// deniedLine is a line of an ACL log.
func deniedLine(acl, src, dst string) string {
	return acllogtest.Line(time.Date(2026, 3, 2, 10, 15, 7, 0, time.UTC), acl, acllog.Drop, src, dst, 5432)
}

// TestObserveHostileLogs reads lines that tenants may have caused: nothing of them may reach the terminal as a control character,
// and what has no room is counted.
func TestObserveHostileLogs(t *testing.T) {
	var log strings.Builder
	log.WriteString(deniedLine(`\u001b[2Jx\n`, "10.0.0.1", "10.0.0.2"))
	log.WriteString("\x1b[2J|1|acl_log|INFO|" + strings.Repeat("x", 100_000) + "\n")
	for i := range 600 {
		log.WriteString(deniedLine("shop/db ingress", fmt.Sprintf("203.0.%d.%d", i>>8, i&255), "198.51.100.1"))
	}
	dir := t.TempDir()
	write(t, dir, "pods.yaml", servedPods)
	path := filepath.Join(t.TempDir(), "acl.log")
	require.NoError(t, os.WriteFile(path, []byte(log.String()), 0o600))
	got := netloom(t, "observe", "-f", dir, path)
	require.Equal(t, exitDone, got.code, got.errout)
	require.NotContains(t, got.out+got.errout, "\x1b")
	require.Contains(t, got.errout, "1 line skipped, longer than 8192 bytes")
	require.True(t, strings.HasSuffix(got.out, "connections, beyond the limit, 345 times\n"))
	got = netloom(t, "observe", "-f", dir, "-o", "json", path)
	var report observation
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Len(t, report.Flows, 256)
	require.Equal(t, map[string]uint64{"denied": 345}, report.Other)
}

// TestFollowingReadsPodsAgain gives a pod another name while lines are read.
func TestFollowingReadsPodsAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pods.yaml")
	load := func() (*world.World, error) {
		state, err := offline.Load(offline.Manifests{Paths: []string{file}})
		if err != nil {
			return nil, err
		}
		return world.New(state), nil
	}
	write(t, dir, "pods.yaml", servedPods+"---"+denyDatabase)
	inv, err := load()
	require.NoError(t, err)
	seen := deniedLine("shop/db ingress", "10.244.0.10", "10.244.0.20")
	w := newWatcher(inv, time.Hour)
	w.line([]byte(seen))

	ctx, cancel := context.WithCancel(t.Context())
	ticks, ended, faults := make(chan time.Time), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(ended)
		w.reload(ctx, ticks, load, func(err error) { faults <- err })
	}()
	write(t, dir, "pods.yaml", strings.ReplaceAll(servedPods, "web-0", "web-9")+"---"+denyDatabase)
	ticks <- time.Time{}
	ticks <- time.Time{} // the one before is done
	w.line([]byte(seen))
	require.NoError(t, os.Rename(file, file+".gone"))
	ticks <- time.Time{}
	require.ErrorIs(t, <-faults, os.ErrNotExist)
	w.line([]byte(seen)) // with the pods that were there
	cancel()
	<-ended
	var from []string
	report := w.Report(time.Time{})
	for i := range report.Flows {
		from = append(from, fmt.Sprint(report.Flows[i].From))
	}
	require.Len(t, from, 2, from)
	require.Contains(t, fmt.Sprint(from), "web-9")
	require.Contains(t, fmt.Sprint(from), "web-0")
}
