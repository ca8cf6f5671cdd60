package ovsdb

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
)

// TestACallWritesItself counts goroutine switches of calls: those of the server, of the reader and of the caller, who does not wait for a
// writer.
func TestACallWritesItself(t *testing.T) {
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		theirs, err := listener.Accept()
		if err != nil {
			return
		}
		requests := bufio.NewReader(theirs)
		for id := 1; ; id++ {
			if _, err := requests.ReadString('}'); err != nil {
				return
			}
			_, _ = fmt.Fprintf(theirs, `{"id":%d,"result":[],"error":null}`, id)
		}
	})
	var d net.Dialer
	ours, err := d.DialContext(t.Context(), "unix", listener.Addr().String())
	require.NoError(t, err)
	c := newConn(ours, limits{"OVN_Northbound", 1 << 20, time.Hour}, func(string, json.RawMessage) {})
	group.Go(c.read)
	group.Go(c.write)
	t.Cleanup(func() {
		c.close(errClosed)
		_ = listener.Close()
		group.Wait()
	})
	const calls = 2000
	ask := func() {
		_, err := c.call(t.Context(), "transact", []byte("[]"), 0, nil)
		require.NoError(t, err)
	}
	ask()
	each := await.Switches(func() {
		for range calls {
			ask()
		}
	}) / calls
	t.Logf("%.2f goroutine switches for each call", each)
	require.Less(t, each, 3.5)
}
