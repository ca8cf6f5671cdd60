package monitoring

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// TestDashboards decodes each dashboard into the types of Grafana's schema, which know every field, and parses what its panels ask.
func TestDashboards(t *testing.T) {
	t.Parallel()
	plugins.RegisterDefaultPlugins()
	for name, component := range components {
		raw, err := os.ReadFile(filepath.Join("../../deploy/kustomize/components", component, name+".json"))
		require.NoError(t, err)
		board, err := decode(raw)
		require.NoError(t, err, name)
		require.NoError(t, board.Validate(), name)
		require.Equal(t, name, *board.Uid)
		requirePanels(t, raw)

		misspelt := bytes.Replace(raw, []byte(`"gridPos"`), []byte(`"gridpos"`), 1)
		_, err = decode(misspelt)
		require.ErrorContains(t, err, "gridpos", "an unknown field is found")
	}
}

// decode decodes a dashboard. The library returns an error without a fault for each panel.
func decode(raw []byte) (dashboard.Dashboard, error) {
	var board dashboard.Dashboard
	err := board.UnmarshalJSONStrict(raw)
	if faults := (cog.BuildErrors)(nil); errors.As(err, &faults) && len(faults) == 0 {
		err = nil
	}
	return board, err
}

// requirePanels requires of each panel an id of its own, a place that no other has, and expressions that Prometheus can parse.
func requirePanels(t *testing.T, raw []byte) {
	t.Helper()
	var board struct{ Panels []panel }
	require.NoError(t, json.Unmarshal(raw, &board))
	require.NotEmpty(t, board.Panels)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	parse := parser.NewParser(parser.Options{})
	for _, p := range board.Panels {
		require.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies on another panel", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for _, target := range p.Targets {
			_, err := parse.ParseExpr(variable.ReplaceAllString(target.Expr, "5m"))
			require.NoError(t, err, "%s: %s", p.Title, target.Expr)
		}
	}
}

// variable is an interval that Grafana replaces.
var variable = regexp.MustCompile(`\$__(rate_interval|interval|range)`)

type panel struct {
	ID      int
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr string }
}
