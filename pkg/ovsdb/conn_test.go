package ovsdb

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
)

// answering connects to a server that sends one of texts for each request.
func answering(t *testing.T, texts ...string) *conn {
	t.Helper()
	ours, theirs := net.Pipe()
	c := newConn(ours, limits{"OVN_Northbound", 1 << 20, time.Minute}, func(string, json.RawMessage) {})
	var group sync.WaitGroup
	group.Go(c.read)
	group.Go(c.write)
	group.Go(func() {
		requests := bufio.NewReader(theirs)
		for _, text := range texts {
			_, _ = requests.ReadString('}')
			_, _ = theirs.Write([]byte(text))
		}
	})
	t.Cleanup(func() {
		c.close(errClosed)
		_ = theirs.Close()
		group.Wait()
	})
	return c
}

const rowsText = `[{"rows":[{"name":"a"},{"name":"b"}]},null,{"rows":[{"name":"beyond"}]}]`

func TestRowsAreReadWhileTheyArrive(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
		wantErr    string
	}{
		{"the ID comes first", `{"id":1,"error":null,"result":` + rowsText + `}`, []string{"a", "b"}, ""},
		{"the result comes first", `{"result":` + rowsText + `,"error":null,"id":1}`, []string{"a", "b"}, ""},
		{"another reply comes first", `{"id":7,"result":` + rowsText + `}{"id":1,"result":` + rowsText + `,"new":[{}]}`, []string{"a", "b"}, ""},
		{"after a long message", `{"method":"update","params":["` + strings.Repeat("x", longMessage-100) + `"]}{"id":1,"result":` + rowsText + `}`, []string{"a", "b"}, ""},
		{"a refusal", `{"id":1,"result":null,"error":{"error":"canceled"}}`, nil, "canceled"},
		{"a result of another form", `{"id":1,"result":[{"rows":[{"name":"a"},5]}]}`, []string{"a"}, "read: json"},
		{"a result that is no array", `{"id":1,"result":{"rows":[]}}`, nil, "expected ["},
		{"no object", `[1]`, nil, "expected an object"},
		{"an end amidst", `{"id":1,"result":[{"rows":[{"name":"a"}}`, []string{"a"}, "read: invalid character"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := answering(t, tc.text)
			var got []string
			r := &results{ops: 1, each: func(_ int, row ovsdb.Row) { got = append(got, fmt.Sprint(row["name"])) }}
			_, err := c.exchange(t.Context(), []byte("[]"), 0, call{method: "transact", stream: r.decode})
			r.abandon()
			require.Equal(t, tc.want, got)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			require.Len(t, r.list, 3)
		})
	}
}

// TestNoRowComesAfterTheCall gives up a call while rows arrive.
func TestNoRowComesAfterTheCall(t *testing.T) {
	c := answering(t, `{"id":1,"result":`+rowsText+`}`, `{"id":2,"result":[]}`)
	ctx, cancel := context.WithCancel(t.Context())
	inside, leave := make(chan struct{}), make(chan struct{})
	var got []string
	r := &results{ops: 1, each: func(_ int, row ovsdb.Row) {
		if got = append(got, fmt.Sprint(row["name"])); len(got) == 1 {
			close(inside)
			<-leave
		}
	}}
	go func() {
		<-inside
		cancel()
	}()
	_, err := c.exchange(ctx, []byte("[]"), 0, call{method: "transact", stream: r.decode})
	require.ErrorIs(t, err, context.Canceled)
	r.abandoned = true // what abandon does, which would wait for the row that is being looked at
	close(leave)
	_, err = c.exchange(t.Context(), []byte("[]"), 0, call{method: "echo"})
	require.NoError(t, err, "the rest of the reply is skipped")
	require.Equal(t, []string{"a"}, got)
}
