package manifest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/source"
)

func TestExtend(t *testing.T) {
	beyond := &source.Undelivered{
		Objects:  []json.RawMessage{json.RawMessage(`{"apiVersion":"cilium.io/v2","kind":"CiliumNetworkPolicy","metadata":{"name":"a","namespace":"shop"}}`)},
		Unlisted: []source.Unlisted{{Group: "kubeovn.io", Kind: "Subnet", Cause: "forbidden"}, {Group: "cilium.io"}, {}},
	}
	for name, content := range map[string]string{
		"an object":  "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
		"no objects": "",
	} {
		t.Run(name, func(t *testing.T) {
			d := Load("a.yaml", []byte(content), Options{}, quiet())
			var list bytes.Buffer
			require.NoError(t, Write(&list, d, d.Refs(), nil))
			got, err := Extend(list.Bytes(), beyond)
			require.NoError(t, err)
			require.Equal(t, beyond.Unlisted, UnlistedOf(got))
			again := Load("b.json", got, Options{Foreign: func(string, string) bool { return true }}, quiet())
			require.Empty(t, again.Problems())
			require.Equal(t, map[string]int{"CiliumNetworkPolicy": 1}, again.Ignored())
			require.Len(t, again.Foreign(), 1)
			require.Equal(t, d.Refs(), again.Refs())
		})
	}
	_, err := Extend([]byte("kind: List"), beyond)
	require.ErrorContains(t, err, "expected one that netloom wrote")
	require.Equal(t, "Subnet (kubeovn.io), the kinds of cilium.io, the kinds of other projects",
		beyond.Unlisted[0].String()+", "+beyond.Unlisted[1].String()+", "+beyond.Unlisted[2].String())
}
