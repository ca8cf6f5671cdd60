package ovsdb

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// TestWhatIsQueuedIsNotOvertaken gives up a call that was queued because somebody wrote. The next call may not pass what is left of it.
func TestWhatIsQueuedIsNotOvertaken(t *testing.T) {
	ours, theirs := net.Pipe()
	c := newConn(ours, limits{"OVN_Northbound", 1 << 20, time.Hour}, func(string, json.RawMessage) {})
	c.turn <- struct{}{} // somebody writes
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := c.call(ctx, "transact", []byte("[1]"), 0, nil)
		gaveUp <- err
	}()
	await.True(t, func() bool { return len(c.out) == 1 }, "the call is queued")
	cancel()
	require.ErrorIs(t, <-gaveUp, context.Canceled)
	<-c.turn
	written, err := c.writeNow(t.Context(), []byte("[2]"), time.Now())
	require.NoError(t, err)
	require.False(t, written)
	read := make(chan string)
	go func() {
		b := make([]byte, 100)
		n, _ := theirs.Read(b)
		read <- string(b[:n])
		n, _ = theirs.Read(b)
		read <- string(b[:n])
	}()
	go c.write()
	require.Contains(t, <-read, `"params":[1]`)
	await.True(t, func() bool { return c.queued.Load() == 0 }, "it is written")
	written, err = c.writeNow(t.Context(), []byte("[2]"), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.True(t, written)
	require.Equal(t, "[2]", <-read)
	c.close(errClosed)
}

// TestACallThatIsGivenUpCostsTheConnectionOnlyIfItBegan ends calls before and after a part of their request is written.
func TestACallThatIsGivenUpCostsTheConnectionOnlyIfItBegan(t *testing.T) {
	for name, read := range map[string]int{"nothing is written": 0, "a part is written": 5} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			c := newConn(ours, limits{"OVN_Northbound", 1 << 20, time.Hour}, func(string, json.RawMessage) {})
			defer c.close(errClosed)
			ctx, cancel := context.WithCancel(t.Context())
			gaveUp := make(chan error)
			go func() {
				_, err := c.call(ctx, "transact", []byte("[1]"), 0, nil)
				gaveUp <- err
			}()
			await.True(t, func() bool { return len(c.turn) == 1 }, "the call writes")
			_, err := io.ReadFull(theirs, make([]byte, read))
			require.NoError(t, err)
			cancel()
			err = <-gaveUp
			if read > 0 {
				require.ErrorIs(t, c.reason(), context.Canceled, "half a request is on its way")
				return
			}
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errUnsent)
			require.NoError(t, c.reason())
			answered := make(chan error)
			go func() {
				_, err := c.call(t.Context(), "transact", []byte("[2]"), 0, nil)
				answered <- err
			}()
			go c.read()
			request := make([]byte, 100)
			n, err := theirs.Read(request)
			require.NoError(t, err)
			require.JSONEq(t, `{"method":"transact","params":[2],"id":2}`, string(request[:n]))
			_, err = io.WriteString(theirs, `{"id":2,"result":[],"error":null}`)
			require.NoError(t, err)
			require.NoError(t, <-answered)
		})
	}
}
