package manifest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/source"
)

func TestWriteWithWhatIsNotDelivered(t *testing.T) {
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
			require.NoError(t, Write(&list, d, d.Refs(), nil, beyond))
			unlisted, looked := UnlistedOf(list.Bytes())
			require.True(t, looked)
			require.Equal(t, beyond.Unlisted, unlisted)
			again := Load("b.json", list.Bytes(), Options{Foreign: func(string, string) bool { return true }}, quiet())
			require.Empty(t, again.Problems())
			require.Equal(t, map[string]int{"CiliumNetworkPolicy": 1}, again.Ignored())
			require.Len(t, again.Foreign(), 1)
			require.Equal(t, d.Refs(), again.Refs())

			list.Reset()
			require.NoError(t, Write(&list, d, d.Refs(), nil, &source.Undelivered{}))
			unlisted, looked = UnlistedOf(list.Bytes())
			require.True(t, looked, "none was found")
			require.Empty(t, unlisted)
			list.Reset()
			require.NoError(t, Write(&list, d, d.Refs(), nil, nil))
			_, looked = UnlistedOf(list.Bytes())
			require.False(t, looked)
		})
	}
	require.Equal(t, "Subnet (kubeovn.io), the kinds of cilium.io, the kinds of other projects",
		beyond.Unlisted[0].String()+", "+beyond.Unlisted[1].String()+", "+beyond.Unlisted[2].String())
}
