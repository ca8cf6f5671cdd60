package object_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func TestProblemSpelling(t *testing.T) {
	web := object.Ref{Kind: "NetworkPolicy", Namespace: "shop", Name: "web"}
	for _, tc := range []struct {
		name     string
		problem  object.Problem
		wantText string
		wantJSON string
	}{
		{
			"a field of an object",
			object.Problem{Ref: web, Field: "spec.ports", Message: "odd"},
			"NetworkPolicy/shop/web: spec.ports: odd",
			`{"object":"NetworkPolicy/shop/web","field":"spec.ports","message":"odd"}`,
		},
		{
			"an object of another cluster",
			object.Problem{Cluster: "east", Ref: object.Ref{Kind: "Node", Name: "n1"}, Message: "odd"},
			"east/Node/n1: odd", `{"object":"Node/n1","message":"odd"}`,
		},
		{
			"a document",
			object.Problem{Place: object.Place{Path: "a: b.yaml", Document: 2}, Ref: web, Message: "odd"},
			"a: b.yaml: document 2: NetworkPolicy/shop/web: odd",
			`{"object":"NetworkPolicy/shop/web","message":"odd","place":{"path":"a: b.yaml","document":2}}`,
		},
		{
			"a line",
			object.Problem{Place: object.Place{Path: "a.yaml", Document: 2, Line: 7}, Message: "torn"},
			"a.yaml:7: torn", `{"message":"torn","place":{"path":"a.yaml","document":2,"line":7}}`,
		},
		{
			"a resource",
			object.Problem{Place: object.Place{Path: "pods"}, Message: "forbidden", Unread: object.UnreadResource},
			"pods: forbidden", `{"message":"forbidden","place":{"path":"pods"}}`,
		},
		{"what would be two lines", object.Problem{Ref: web, Message: "a\nb"}, `NetworkPolicy/shop/web: a\nb`, `{"object":"NetworkPolicy/shop/web","message":"a\nb"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.EqualError(t, tc.problem, tc.wantText)
			text, err := json.Marshal(tc.problem)
			require.NoError(t, err)
			require.Equal(t, tc.wantJSON, string(text))
			var back object.Problem
			require.NoError(t, json.Unmarshal(text, &back))
			tc.problem.Cluster, tc.problem.Unread = "", object.UnreadNothing
			require.Equal(t, tc.problem, back)
		})
	}
	require.Error(t, json.Unmarshal([]byte(`{"object":"shop"}`), &object.Problem{}))
}

func TestProblemOrder(t *testing.T) {
	want := []object.Problem{
		{Ref: object.Ref{Kind: "Node", Name: "n"}},
		{Ref: object.Ref{Kind: "Pod", Name: "p"}, Field: "spec", Message: "a"},
		{Ref: object.Ref{Kind: "Pod", Name: "p"}, Field: "spec", Message: "b"},
		{Cluster: "east", Ref: object.Ref{Kind: "Node", Name: "n"}},
		{Place: object.Place{Path: "a.yaml", Document: 1, Line: 3}},
		{Place: object.Place{Path: "a.yaml", Document: 2, Line: 1}},
		{Place: object.Place{Path: "b.yaml"}},
		{Place: object.Place{Path: "b.yaml"}, Unread: object.UnreadFile},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, object.Problem.Compare)
	require.Equal(t, want, got)
}
