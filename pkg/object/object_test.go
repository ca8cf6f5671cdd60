package object_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func TestRefSpelling(t *testing.T) {
	for _, tc := range []struct {
		name               string
		ref                object.Ref
		wantText, wantPath string
	}{
		{"a namespaced object", object.Ref{Kind: "Pod", Namespace: "shop", Name: "web"}, "Pod shop/web", "Pod/shop/web"},
		{"a cluster-scoped object", object.Ref{Kind: "Node", Name: "n1"}, "Node n1", "Node/n1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.wantText, tc.ref.String())
			require.Equal(t, tc.wantPath, tc.ref.Path())
		})
	}
}

func TestRefOrder(t *testing.T) {
	want := []object.Ref{
		{},
		{Kind: "Node", Name: "n1"},
		{Kind: "Pod", Namespace: "a", Name: "x"},
		{Kind: "Pod", Namespace: "b", Name: "a"},
		{Kind: "Pod", Namespace: "b", Name: "b"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, object.Ref.Compare)
	require.Equal(t, want, got)
}

func TestKeySpellingAndOrder(t *testing.T) {
	web, east := object.Key{Namespace: "shop", Name: "web"}, object.Key{Cluster: "east", Namespace: "shop", Name: "db"}
	require.Equal(t, "shop/web", web.String())
	require.Equal(t, "east/shop/db", east.String())
	require.Negative(t, web.Compare(east), "the cluster counts first")
	require.Positive(t, web.Compare(object.Key{Namespace: "shop", Name: "db"}))
	require.Zero(t, web.Compare(object.Key{Namespace: "shop", Name: "web"}))
}

func TestFew(t *testing.T) {
	for _, tc := range []struct {
		name  string
		names []string
		want  string
	}{
		{"none", nil, ""},
		{"one", []string{"a"}, "a"},
		{"as many as are shown", []string{"a", "b"}, "a, b"},
		{"one more", []string{"a", "b", "c"}, "a, b and 1 more"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, object.Few(tc.names, 2)) })
	}
}
