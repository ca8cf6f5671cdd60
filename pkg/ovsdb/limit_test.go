package ovsdb

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
)

const addressSet = "11111111-1111-4111-8111-111111111111"

// insert is an operation with a payload of some bytes.
func insert(bytes int) []ovsdb.Operation {
	return []ovsdb.Operation{Insert("Address_Set", addressSet, ovsdb.Row{
		"name": "big", "external_ids": Map(map[string]string{"text": strings.Repeat("x", bytes)}),
	})}
}

// TestATricklingServerIsLeft checks that a byte now and then, which answers every probe, does not keep a transaction waiting.
func TestATricklingServerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 2, Options{CallTimeout: 20 * time.Second})
		require.Equal(t, "a", w.at())
		_, err := w.client.Transact(t.Context(), insert(1000))
		require.NoError(t, err)
		w.servers["a"].Trickle(time.Second / 2)
		start := time.Now()
		_, err = w.client.Select(t.Context(), "Address_Set", nil)
		require.ErrorIs(t, err, errLate)
		require.ErrorIs(t, err, ErrUnknownOutcome)
		require.ErrorContains(t, err, "timeout: the server did not answer in full in time")
		require.InDelta(t, 20+workOf(selectWeight).Seconds(), time.Since(start).Seconds(), 1)
		require.LessOrEqual(t, w.wait(t, "b"), 3*time.Second, "the next server is tried")
		require.EqualValues(t, 2, w.client.Epoch(), "and everything is read back")
	})
}

// TestATricklingServerIsNotConnectedTo checks the same for what is read before a connection counts.
func TestATricklingServerIsNotConnectedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 2, Options{DialTimeout: time.Hour, CallTimeout: 20 * time.Second})
		require.Equal(t, "a", w.at())
		w.servers["b"].Trickle(time.Second / 2)
		w.set("a", refusing)
		time.Sleep(10 * time.Minute)
		require.Empty(t, w.at())
		require.Greater(t, len(w.dialed()), 4, "other servers get their turn")
	})
}

func TestAReplyHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 256 << 10
		w := enter(t, 1, Options{MaxReply: limit})
		require.Equal(t, "a", w.at())
		_, err := w.client.Transact(t.Context(), insert(limit-1000))
		require.NoError(t, err)
		_, err = w.client.Select(t.Context(), "Address_Set", nil)
		require.NoError(t, err, "what just fits is read")

		_, err = w.client.Transact(t.Context(), []ovsdb.Operation{Delete("Address_Set", addressSet)})
		require.NoError(t, err)
		_, err = w.client.Transact(t.Context(), insert(4*limit))
		require.NoError(t, err)
		w.servers["a"].Reset()
		_, err = w.client.Select(t.Context(), "Address_Set", nil)
		require.ErrorIs(t, err, errTooLong)
		require.ErrorContains(t, err, "OVN_Northbound")
		require.ErrorContains(t, err, "262144")
		require.Less(t, w.servers["a"].Stats().BytesOut, int64(2*limit), "the rest is not even read")
		require.LessOrEqual(t, w.wait(t, "a"), 3*time.Second, "another question may have a shorter answer")
	})
}
