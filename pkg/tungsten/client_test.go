package tungsten_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/pkg/tungsten"
)

func TestObjectsAreReadAsTheyWereWritten(t *testing.T) {
	c := connect(t, newServer(t, simulator.Options{}), nil)
	web, db := create(t, c, label("web")), create(t, c, label("db"))
	want := group("g")
	want.TagRefs = []tungsten.Ref{tungsten.RefTo("label=web"), tungsten.RefTo("label=db")}
	want.AddressGroupPrefix = &tungsten.Subnets{Subnet: []tungsten.Subnet{tungsten.SubnetOf(netip.MustParsePrefix("10.1.2.3/8"))}}
	want.Annotations = tungsten.NewAnnotations(map[string]string{"owner": "netloom", "cluster": "c1"})
	groupID := create(t, c, want)
	r := rule()
	r.FQName[0] = manager
	r.Endpoint1 = &tungsten.Endpoint{Tags: []string{"global:label=web"}}
	r.Endpoint2 = &tungsten.Endpoint{AddressGroup: manager + ":g"}
	ruleID := create(t, c, r)
	p := &tungsten.Object{
		Kind: tungsten.KindFirewallPolicy, FQName: []string{manager, "p"}, ParentType: tungsten.KindPolicyManagement,
		FirewallRuleRefs: []tungsten.Ref{tungsten.RefTo(manager, "r").InSequence("0001")},
	}
	policyID := create(t, c, p)
	for _, o := range []struct {
		want *tungsten.Object
		uuid string
	}{{want, groupID}, {r, ruleID}, {p, policyID}} {
		got, err := c.Get(t.Context(), o.want.Kind, o.uuid)
		require.NoError(t, err)
		fields, err := tungsten.Diff(got, o.want)
		require.NoError(t, err)
		require.Empty(t, fields, o.want.Kind)
		require.Equal(t, o.want.FQName, got.FQName)
	}
	tag, err := c.Get(t.Context(), tungsten.KindTag, web, tungsten.KindAddressGroup.BackRefField(), "tag_id")
	require.NoError(t, err)
	require.Equal(t, "0x00000000", tag.TagID)
	require.NotEmpty(t, db)
}

func TestFieldsOfAnUpdateAreReplacedAndCleared(t *testing.T) {
	c := connect(t, newServer(t, simulator.Options{}), nil)
	create(t, c, label("web"))
	have := group("g")
	have.TagRefs = []tungsten.Ref{tungsten.RefTo("label=web")}
	have.AddressGroupPrefix = &tungsten.Subnets{Subnet: []tungsten.Subnet{tungsten.SubnetOf(netip.MustParsePrefix("10.0.0.0/8"))}}
	have.Annotations = tungsten.NewAnnotations(map[string]string{"k": "v"})
	uuid := create(t, c, have)
	for _, want := range []*tungsten.Object{group("g"), have} {
		got, err := c.Get(t.Context(), have.Kind, uuid)
		require.NoError(t, err)
		fields, err := tungsten.Diff(got, want)
		require.NoError(t, err)
		require.Len(t, fields, 3)
		require.NoError(t, c.Update(t.Context(), have.Kind, uuid, fields))
		got, err = c.Get(t.Context(), have.Kind, uuid)
		require.NoError(t, err)
		fields, err = tungsten.Diff(got, want)
		require.NoError(t, err)
		require.Empty(t, fields)
	}
}

func TestReferencesAreChangedOneByOne(t *testing.T) {
	s := newServer(t, simulator.Options{})
	c := connect(t, s, nil)
	g := create(t, c, group("g"))
	tags := make([]string, 20)
	for i := range tags {
		tags[i] = create(t, c, label(fmt.Sprint(i)))
	}
	var work sync.WaitGroup
	for _, tag := range tags {
		work.Go(func() {
			require.NoError(t, c.AddRef(t.Context(), tungsten.Link{From: tungsten.KindAddressGroup, UUID: g, To: tungsten.KindTag, Target: tag}))
		})
	}
	work.Wait()
	got, err := c.Get(t.Context(), tungsten.KindAddressGroup, g)
	require.NoError(t, err)
	require.Len(t, got.TagRefs, len(tags))
	require.True(t, s.Vanish(tags[0]))
	got, err = c.Get(t.Context(), tungsten.KindAddressGroup, g)
	require.NoError(t, err)
	for _, ref := range got.TagRefs {
		require.Equal(t, ref.UUID == tags[0], ref.Dangling())
		for range 2 {
			link := tungsten.Link{From: tungsten.KindAddressGroup, UUID: g, To: tungsten.KindTag, Target: ref.UUID}
			require.NoError(t, c.RemoveRef(t.Context(), link))
		}
	}
	got, err = c.Get(t.Context(), tungsten.KindAddressGroup, g)
	require.NoError(t, err)
	require.Empty(t, got.TagRefs)
}

func TestRefusalsAreToldApart(t *testing.T) {
	c := connect(t, newServer(t, simulator.Options{}), nil)
	ctx := t.Context()
	web := create(t, c, label("web"))
	tagged := group("g")
	tagged.TagRefs = []tungsten.Ref{tungsten.RefTo("label=web")}
	create(t, c, tagged)
	unknownTag := group("x")
	unknownTag.TagRefs = []tungsten.Ref{tungsten.RefTo("label=nope")}
	policy := &tungsten.Object{
		Kind: tungsten.KindFirewallPolicy, FQName: []string{manager, "p"}, ParentType: tungsten.KindPolicyManagement,
		FirewallRuleRefs: []tungsten.Ref{tungsten.RefTo(manager, "nope").InSequence("1")},
	}
	orphan := group("x")
	orphan.FQName[0], orphan.ParentType = "default-domain", tungsten.KindDomain
	const nobody = "00000000-0000-0000-0000-000000000000"
	creating := func(o *tungsten.Object) error {
		_, err := c.Create(ctx, o)
		return err
	}
	_, getErr := c.Get(ctx, tungsten.KindTag, nobody)
	_, idErr := c.ID(ctx, tungsten.KindTag, "label=nope")
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"an unknown object", getErr, "not found"},
		{"an unknown name", idErr, "not found"},
		{"deleting an unknown object", c.Delete(ctx, tungsten.KindTag, nobody), "not found"},
		{"a name that is taken", creating(group("g")), "conflict"},
		{"deleting a tag in use", c.Delete(ctx, tungsten.KindTag, web), "referenced"},
		{"a reference to an unknown tag", creating(unknownTag), "dependency missing"},
		{"a reference to an unknown rule", creating(policy), "dependency missing"},
		{"a parent of the wrong kind", creating(orphan), "refused"},
		{"changing a tag", c.Update(ctx, tungsten.KindTag, web, tungsten.Fields{"tag_value": []byte(`"x"`)}), "refused"},
		{"null for a list", c.Update(ctx, tungsten.KindTag, web, tungsten.Fields{"annotations": []byte(`null`)}), "fault"},
	}
	questions := map[string]func(error) bool{
		"conflict": tungsten.IsConflict, "referenced": tungsten.IsReferenced, "refused": tungsten.IsRefused, "fault": tungsten.IsFault,
		"dependency missing": tungsten.IsDependencyMissing, "draft": tungsten.IsDraft, "exhausted": tungsten.IsExhausted,
		"unavailable": tungsten.IsUnavailable,
		"not found":   func(err error) bool { return tungsten.IsNotFound(err) && !tungsten.IsDependencyMissing(err) },
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for name, question := range questions {
				if name == "dependency missing" && tc.name == "an unknown name" {
					continue // a POST answered 404, as for an unknown rule
				}
				if name == "not found" && tc.name == "an unknown name" {
					require.True(t, tungsten.IsNotFound(tc.err))
					continue
				}
				require.Equal(t, name == tc.want, question(tc.err), "%s: %v", name, tc.err)
			}
		})
	}
}

func TestADraftIsNotInForce(t *testing.T) {
	c := connect(t, newServer(t, simulator.Options{}), nil)
	uuid := create(t, c, group("g"))
	system, err := c.ID(t.Context(), tungsten.KindGlobalSystemConfig, "default-global-system-config")
	require.NoError(t, err)
	require.NoError(t, c.Update(t.Context(), tungsten.KindGlobalSystemConfig, system, tungsten.Fields{
		"enable_security_policy_draft": []byte(`true`),
	}))
	config, err := c.Get(t.Context(), tungsten.KindGlobalSystemConfig, system)
	require.NoError(t, err)
	require.True(t, config.SecurityPolicyDraft)
	_, err = c.Create(t.Context(), group("h"))
	require.True(t, tungsten.IsDraft(err), err)
	require.True(t, tungsten.IsDraft(c.Update(t.Context(), tungsten.KindAddressGroup, uuid, tungsten.Fields{"display_name": []byte(`"x"`)})))
	require.True(t, tungsten.IsDraft(c.Delete(t.Context(), tungsten.KindAddressGroup, uuid)))
	_, err = c.Create(t.Context(), label("web"))
	require.NoError(t, err, "tags are not drafted")
}

func TestLongListsAreReadByParts(t *testing.T) {
	c := connect(t, newServer(t, simulator.Options{}), nil)
	const n = 2100
	uuids := make([]string, n)
	var parallel sync.WaitGroup
	for part := range 8 {
		parallel.Go(func() {
			for i := part; i < n; i += 8 {
				uuids[i], _ = c.Create(t.Context(), label(fmt.Sprint(i)))
			}
		})
	}
	parallel.Wait()
	g := group("g")
	g.TagRefs = []tungsten.Ref{tungsten.RefTo("label=1"), tungsten.RefTo("label=1999")}
	create(t, c, g)
	for _, tc := range []struct {
		name  string
		kind  tungsten.Kind
		query tungsten.Query
		want  int
	}{
		{"all", tungsten.KindTag, tungsten.Query{}, n},
		{"all with a field", tungsten.KindTag, tungsten.Query{Fields: []string{"tag_value"}}, n},
		{"all in detail", tungsten.KindTag, tungsten.Query{Detail: true}, n},
		{"by UUIDs", tungsten.KindTag, tungsten.Query{UUIDs: uuids}, n},
		{"by no UUID", tungsten.KindTag, tungsten.Query{UUIDs: []string{}}, 0},
		{"by a reference to two of many", tungsten.KindAddressGroup, tungsten.Query{BackRefs: uuids}, 1},
		{"by name", tungsten.KindTag, tungsten.Query{Names: []string{"label=7", "label=nope"}}, 1},
		{"by value", tungsten.KindTag, tungsten.Query{Filters: map[string][]string{"tag_value": {"7", "8"}, "tag_type_name": {"label"}}}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := c.List(t.Context(), tc.kind, tc.query)
			require.NoError(t, err)
			require.Len(t, list, tc.want)
			for _, o := range list {
				require.Equal(t, tc.kind, o.Kind)
				require.NotEmpty(t, o.UUID)
				require.NotEmpty(t, o.Name())
				require.Equal(t, tc.kind == tungsten.KindTag && (tc.query.Detail || tc.query.Fields != nil), o.TagValue != "")
			}
		})
	}
}

func TestTheOutcomeOfALostAnswerIsUnknown(t *testing.T) {
	for _, tc := range []struct {
		fault   simulator.Fault
		created bool
	}{
		{simulator.Cut, false}, {simulator.CutAfter, true}, {simulator.Hang, false}, {simulator.HangAfter, true}, {simulator.Restart, false},
	} {
		t.Run(fmt.Sprint(tc.fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulator.New(simulator.Options{})
				defer s.Close()
				c := connect(t, s, nil)
				defer c.Close()
				s.Inject(simulator.At(1, tc.fault))
				_, err := c.Create(t.Context(), label("web"))
				require.ErrorIs(t, err, tungsten.ErrUnknownOutcome)
				_, err = c.ID(t.Context(), tungsten.KindTag, "label=web")
				require.Equal(t, !tc.created, tungsten.IsNotFound(err), err)
				s.Inject(simulator.At(1, tc.fault))
				_, err = c.ID(t.Context(), tungsten.KindTag, "label=web")
				require.Error(t, err)
				require.NotErrorIs(t, err, tungsten.ErrUnknownOutcome, "a read has no outcome")
			})
		})
	}
}

func TestAnotherServerTakesOver(t *testing.T) {
	s := newServer(t, simulator.Options{})
	var mu sync.Mutex
	down := map[string]bool{"one:1": true}
	dialed := make(map[string]int)
	c := connect(t, s, func(o *tungsten.Options) {
		o.URLs = []string{"http://one:1", "http://two:2", "http://three:3"}
		o.Connections = 1
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dialed[address]++
			if down[address] {
				return nil, errors.New("connection refused")
			}
			return s.Dial(ctx, network, address)
		}
	})
	create(t, c, label("web"))
	create(t, c, label("db"))
	require.Equal(t, map[string]int{"one:1": 1, "two:2": 1}, dialed, "the second write goes where the first one went")
	s.Inject(simulator.At(1, simulator.Unavailable))
	create(t, c, label("cache"))
	require.Equal(t, 1, dialed["three:3"], "a server that says that it is unavailable did nothing")
	s.Inject(func(simulator.Call) simulator.Fault { return simulator.Unavailable })
	_, err := c.Create(t.Context(), label("x"))
	require.True(t, tungsten.IsUnavailable(err), err)
	s.Inject(simulator.At(1, simulator.Cut))
	_, err = c.List(t.Context(), tungsten.KindTag, tungsten.Query{})
	require.NoError(t, err, "a read is repeated elsewhere")
	s.Inject(simulator.At(1, simulator.CutAfter))
	_, err = c.Create(t.Context(), label("y"))
	require.ErrorIs(t, err, tungsten.ErrUnknownOutcome, "a write is not")
	s.Inject(nil)
	mu.Lock()
	down["two:2"], down["three:3"] = true, true
	mu.Unlock()
	c.Close()
	_, err = c.List(t.Context(), tungsten.KindTag, tungsten.Query{})
	require.ErrorContains(t, err, "connection refused")
}

func TestCallsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulator.New(simulator.Options{})
		defer s.Close()
		c := connect(t, s, func(o *tungsten.Options) { o.Connections = 1 })
		defer c.Close()
		s.Inject(func(simulator.Call) simulator.Fault { return simulator.Hang })
		start := time.Now()
		var work sync.WaitGroup
		for range 3 { // of which two wait for the connection of the first
			work.Go(func() {
				_, err := c.Get(t.Context(), tungsten.KindTag, "x")
				require.ErrorIs(t, err, tungsten.ErrNoAnswer)
			})
		}
		work.Wait()
		require.Equal(t, 20*time.Second, time.Since(start))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, c.Delete(ctx, tungsten.KindTag, "x"), context.Canceled)
		require.Equal(t, 21*time.Second, time.Since(start))
	})
}

func TestAnswersAreBounded(t *testing.T) {
	s := newServer(t, simulator.Options{})
	c := connect(t, s, func(o *tungsten.Options) { o.MaxAnswer = 10000 })
	for i := range 100 {
		create(t, c, label(fmt.Sprint(i)))
	}
	_, err := c.List(t.Context(), tungsten.KindTag, tungsten.Query{Detail: true})
	require.ErrorIs(t, err, tungsten.ErrTooLarge)
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Watch(ctx, []tungsten.Watched{{Kind: tungsten.KindTag}}, func(e tungsten.Event) {
		require.Equal(t, tungsten.EventLost, e.Type)
		require.ErrorIs(t, e.Err, tungsten.ErrTooLarge)
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTagsRunOut(t *testing.T) {
	s := newServer(t, simulator.Options{})
	c := connect(t, s, nil)
	s.TakeTagIDs("label", 1<<15-2)
	create(t, c, label("a"))
	create(t, c, label("b"))
	_, err := c.Create(t.Context(), label("c"))
	require.True(t, tungsten.IsExhausted(err), err)
	require.False(t, tungsten.IsFault(err))
	create(t, c, &tungsten.Object{Kind: tungsten.KindTag, FQName: []string{"x"}, TagTypeName: "tier", TagValue: "c"})
}
