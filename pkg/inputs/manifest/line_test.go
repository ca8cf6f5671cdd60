package manifest

import (
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

const twoDocuments = `# a comment
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: db
  namespace: shop
spec:
  podSelector: {}
  ingress:
  - ports:
    - port: 80
    - port: 99999
`

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		name     string
		document int
		field    string
		message  string
		want     int
	}{
		{"a document", 2, "", "", 6},
		{"the first one begins after its comments", 1, "", "", 2},
		{"a field", 2, "spec.ingress[0].ports[1].port", "", 16},
		{"an element", 2, "spec.ingress[0].ports[0]", "", 15},
		{"the nearest parent of what is missing", 2, "spec.ingress[0].from[3].ipBlock", "", 14},
		{"a key in brackets", 2, "metadata[name]", "", 9},
		{"a line that the parser names", 2, "", "did not find expected node content on line 7", 7},
		{"no such document", 3, "spec", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := object.Problem{Place: object.Place{Document: tc.document}, Field: tc.field, Message: tc.message}
			require.Equal(t, tc.want, NewLines([]byte(twoDocuments)).OfProblem(&p))
		})
	}
	require.Equal(t, 1, NewLines([]byte("a: [b\n")).Of(1, "spec"), "an invalid document")
}

func TestAStreamIsADirectory(t *testing.T) {
	d := Load("-", []byte(twoDocuments), Options{}, logrus.New())
	require.True(t, d.Synced())
	require.Len(t, d.Refs(), 2)
	place, ok := d.Place(object.Ref{Kind: object.KindNamespace, Name: "shop"})
	require.True(t, ok)
	require.Equal(t, object.Place{Path: "-", Document: 1}, place)
	_, ok = d.Place(object.Ref{Kind: object.KindPod, Namespace: "shop", Name: "web"})
	require.False(t, ok)

	require.Len(t, d.Problems(), 1)
	require.Equal(t, object.Place{Path: "-", Document: 2}, d.Problems()[0].Place)
	require.Equal(t, object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"}, d.Problems()[0].Ref)
}
