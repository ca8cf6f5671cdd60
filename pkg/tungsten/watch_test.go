package tungsten_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/pkg/tungsten"
)

// watching starts a watch and returns its events. The test must run in a bubble.
func watching(t *testing.T, c *tungsten.Client, kinds ...tungsten.Watched) (events func() []tungsten.Event, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var got []tungsten.Event
	done := make(chan error, 1)
	go func() { done <- c.Watch(ctx, kinds, func(e tungsten.Event) { got = append(got, e) }) }()
	events = func() []tungsten.Event {
		synctest.Wait()
		out := got
		got = nil
		return out
	}
	return events, func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulator.New(simulator.Options{})
		defer s.Close()
		c := connect(t, s, nil)
		defer c.Close()
		create(t, c, label("old"))
		events, stop := watching(t, c, tungsten.Watched{Kind: tungsten.KindTag}, tungsten.Watched{
			Kind: tungsten.KindAddressGroup, Fields: []string{"tag_refs"},
		})
		defer stop()
		got := events()
		require.Len(t, got, 2)
		require.Equal(t, tungsten.EventInit, got[0].Type)
		require.Equal(t, "old", got[0].Objects[0].TagValue)
		require.Equal(t, tungsten.KindAddressGroup, got[1].Kind)
		require.Empty(t, got[1].Objects)

		web := create(t, c, label("web"))
		g := group("g")
		g.TagRefs = []tungsten.Ref{tungsten.RefTo("label=web")}
		groupID := create(t, c, g)
		require.NoError(t, c.Update(t.Context(), tungsten.KindAddressGroup, groupID, tungsten.Fields{"tag_refs": []byte(`[]`)}))
		require.NoError(t, c.Delete(t.Context(), tungsten.KindTag, web))
		got = events()
		require.Len(t, got, 4)
		require.Equal(t, tungsten.EventCreate, got[0].Type)
		require.Equal(t, web, got[0].Objects[0].UUID)
		require.Equal(t, tungsten.EventCreate, got[1].Type)
		require.Equal(t, tungsten.EventUpdate, got[2].Type)
		require.Equal(t, tungsten.KindAddressGroup, got[2].Kind)
		require.Equal(t, tungsten.EventDelete, got[3].Type)
		require.Equal(t, web, got[3].Objects[0].UUID)
	})
}

func TestWatchConnectsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulator.New(simulator.Options{User: "admin", Password: secret, Keystone: true})
		defer s.Close()
		c := connect(t, s, func(o *tungsten.Options) {
			o.User, o.Password, o.Keystone = "admin", password(secret), &tungsten.Keystone{URL: "http://keystone:5000/v3"}
		})
		defer c.Close()
		events, stop := watching(t, c, tungsten.Watched{Kind: tungsten.KindTag})
		defer stop()
		require.Len(t, events(), 1)
		s.ExpireTokens()
		s.Inject(func(call simulator.Call) simulator.Fault {
			if call.N < 10 {
				return simulator.Fail
			}
			return simulator.NoFault
		})
		s.Drop()
		var types []tungsten.EventType
		time.Sleep(400 * time.Second)
		for _, e := range events() {
			types = append(types, e.Type)
			if e.Type == tungsten.EventLost {
				require.Error(t, e.Err)
			}
		}
		require.Len(t, types, 11, "one end, nine refusals, and then everything again")
		require.Equal(t, tungsten.EventInit, types[10])
		create(t, c, label("web"))
		got := events()
		require.Len(t, got, 1)
		require.Equal(t, tungsten.EventCreate, got[0].Type)
	})
}

func TestASilentStreamIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulator.New(simulator.Options{})
		defer s.Close()
		c := connect(t, s, nil)
		defer c.Close()
		s.Inject(simulator.At(1, simulator.Hang))
		events, stop := watching(t, c, tungsten.Watched{Kind: tungsten.KindTag})
		defer stop()
		time.Sleep(400 * time.Second)
		got := events()
		require.Len(t, got, 2)
		require.ErrorIs(t, got[0].Err, tungsten.ErrNoAnswer)
		require.Equal(t, tungsten.EventInit, got[1].Type, "and lines that keep the stream alive do keep it")
	})
}
