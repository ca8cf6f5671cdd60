package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/netloom/netloom/pkg/gateway/audit"
	"github.com/netloom/netloom/test/await"
)

func event(id string) *auditv1.Event { return &auditv1.Event{AuditID: types.UID(id)} }

// TestEveryEventIsWrittenOnce writes from many goroutines.
func TestEveryEventIsWrittenOnce(t *testing.T) {
	log, _ := logtest.NewNullLogger()
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := audit.Open(path, log)
	require.NoError(t, err)
	var writing sync.WaitGroup
	for i := range 10 {
		writing.Go(func() {
			for j := range 100 {
				l.Write(event(fmt.Sprintf("-%d-%d-", i, j)))
			}
		})
	}
	writing.Wait()
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	l.Write(event("late"))
	require.EqualValues(t, 1, l.Dropped())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1000, bytes.Count(text, []byte{'\n'}))
	for i := range 10 {
		for j := range 100 {
			require.Equal(t, 1, bytes.Count(text, fmt.Appendf(nil, "-%d-%d-", i, j)))
		}
	}
}

// TestFilesAreMoved fills a file, and has another program move it.
func TestFilesAreMoved(t *testing.T) {
	log, _ := logtest.NewNullLogger()
	path := filepath.Join(t.TempDir(), "audit.log")
	require.NoError(t, os.WriteFile(path, []byte("full\n"), 0o600))
	require.NoError(t, os.Truncate(path, 100<<20))
	l, err := audit.Open(path, log)
	require.NoError(t, err)
	has := func(file, text string) bool {
		content, err := os.ReadFile(file)
		return err == nil && bytes.Contains(content, []byte(text))
	}
	l.Write(event("first"))
	await.True(t, func() bool { return has(path, "first") && has(path+".1", "full") }, "a full file is moved")
	require.NoError(t, os.Rename(path, path+".2"))
	l.Write(event("second"))
	await.True(t, func() bool { return has(path, "second") && !has(path, "first") }, "a file that was moved is made again")
	require.NoError(t, l.Close())
}

// TestAFileThatCannotBeWrittenIsTold takes the directory away.
func TestAFileThatCannotBeWrittenIsTold(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	dir := filepath.Join(t.TempDir(), "logs")
	require.NoError(t, os.Mkdir(dir, 0o700))
	l, err := audit.Open(filepath.Join(dir, "audit.log"), log)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	l.Write(event("first"))
	await.True(t, func() bool { return l.Dropped() == 1 }, "it is counted")
	l.Write(event("second"))
	await.True(t, func() bool { return l.Dropped() == 2 }, "it is counted")
	require.Len(t, hook.AllEntries(), 1, "it is logged once")
	require.Equal(t, logrus.ErrorLevel, hook.LastEntry().Level)
	require.NoError(t, os.Mkdir(dir, 0o700))
	l.Write(event("third"))
	require.NoError(t, l.Close())
	require.EqualValues(t, 2, l.Dropped())
	_, err = audit.Open(filepath.Join(dir, "none", "audit.log"), log)
	require.Error(t, err)
}
