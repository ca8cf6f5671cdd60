package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/version"
)

func TestVersionIsDataToo(t *testing.T) {
	var fromJSON, fromYAML version.Info
	require.NoError(t, json.Unmarshal([]byte(netloom(t, "version", "-o", "json").out), &fromJSON))
	require.NoError(t, yaml.Unmarshal([]byte(netloom(t, "version", "-o", "yaml").out), &fromYAML))
	require.Equal(t, version.Current(), fromJSON)
	require.Equal(t, version.Current(), fromYAML)
	require.Equal(t, version.Current().String()+"\n", netloom(t, "version").out)

	got := netloom(t, "version", "-o", "xml")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "netloom: --output: \"xml\": expected table, json or yaml\n", got.errout)
}
