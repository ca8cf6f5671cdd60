package deployment

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/config/setting"
)

const chart = "../../../deploy/helm/netloom"

var update = flag.Bool("update", false, "rewrite the settings in the schema of the chart")

// fixed are the settings that the chart decides itself.
var fixed = []string{
	"manifests", "kubeconfig", "kube-context", "listen", "leader-elect", "leader-elect-namespace", "zone-node",
	"webhook-listen", "webhook-tls-cert", "webhook-tls-key", "webhook-tls-secret", "webhook-tls-service", "webhook-tls-name",
	"webhook-configuration", "webhook-mutating-configuration", "webhook-exempt-group", "webhook-exempt-user",
	"gateway-clusters", "gateway-listen", "gateway-tls-cert", "gateway-tls-key", "gateway-front-proxy-ca",
}

// TestSchemaKnowsEverySetting compares the schema of the chart with the settings that exist.
func TestSchemaKnowsEverySetting(t *testing.T) {
	path := filepath.Join(chart, "values.schema.json")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(raw, &schema))
	properties := map[string]any{}
	gateway := slices.DeleteFunc(config.GatewaySettings(), func(s setting.Setting) bool { return !strings.HasPrefix(s.Key, "gateway-") })
	for _, s := range slices.Concat(config.Settings(new(builtin.Settings).Groups()...), gateway) {
		if !slices.Contains(fixed, s.Key) {
			properties[s.Key] = property(&s)
		}
	}
	settings := schema["properties"].(map[string]any)["config"].(map[string]any)
	if *update {
		settings["properties"] = properties
		text, err := json.MarshalIndent(schema, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, '\n'), 0o644))
		return
	}
	want, err := json.MarshalIndent(properties, "", "  ")
	require.NoError(t, err)
	got, err := json.MarshalIndent(settings["properties"], "", "  ")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "go test ./deployment -update rewrites it")
}

// property is the schema of a setting. A number or a boolean may be written as a string, as in the environment.
func property(s *setting.Setting) map[string]any {
	p := map[string]any{"description": s.Usage + "."}
	switch s.Kind {
	case setting.KindList:
		p["type"] = []string{"string", "array"}
		p["items"] = map[string]any{"type": "string"}
	case setting.KindBool:
		p["enum"] = []any{true, false, "true", "false"}
	case setting.KindNumber:
		p["type"] = []string{"number", "string"}
	case setting.KindText, setting.KindDuration:
		p["type"] = "string"
		if len(s.Choices) > 0 {
			p["enum"] = s.Choices
		}
	}
	return p
}
