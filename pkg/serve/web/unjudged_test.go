package web_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/serve/web"
)

// TestNothingIsPlainlyAllowedThatWasNotChecked has a primary network in namespace shop that is not evaluated.
func TestNothingIsPlainlyAllowedThatWasNotChecked(t *testing.T) {
	source := shop(t)
	reading := &world.Reading{Live: true}
	reading.AddForeign("k8s.ovn.org", "UserDefinedNetwork", "shop", []byte(`{"spec":{"topology":"Layer2","layer2":{"role":"Primary"}}}`))
	source.state.Reading, source.state.Problems = reading, nil
	s := serve(source)
	const doubt = "ignored, although they decide on connections: 1 UserDefinedNetwork"

	m, _ := s.matrix(t, "")
	require.Equal(t, []string{doubt}, m.Unknown)
	certain := 0
	for r, row := range m.Rows {
		for c, column := range m.Columns {
			state := m.States[m.Cells[r][c]]
			if state.Verdict == web.CellItself || state.Verdict == web.CellNone {
				continue
			}
			require.Equal(t, row.ID == "shop" || column.ID == "shop", state.Verdict == web.CellUnknown, "%s to %s", row.ID, column.ID)
			if state.Verdict != web.CellUnknown {
				certain++
			}
		}
	}
	require.Positive(t, certain)

	drawn, _ := s.connections(t, "")
	require.Equal(t, []string{doubt}, drawn.Unknown)
	of := map[bool]int{}
	for _, l := range drawn.Links {
		from, to := &drawn.Nodes[l.From], &drawn.Nodes[l.To]
		require.Equal(t, slices.Contains(from.Names, "shop") || slices.Contains(to.Names, "shop"), l.Unknown, "%s to %s", from.Title, to.Title)
		of[l.Unknown]++
	}
	require.Positive(t, of[true])
	require.Positive(t, of[false])

	ask := func(from, to string) (why web.Why) {
		w := s.get(t, "/api/v1/why?from="+from+"&to="+to+"&port=80")
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &why), w.Body)
		return why
	}
	why := ask("shop/web-7d9c5b8f4d-x2x4k", "shop/db-0")
	require.Equal(t, map[probe.Verdict]int{probe.VerdictUnknown: 1}, why.Counts)
	require.Equal(t, []string{doubt}, why.Answers[0].Doubts)
	require.Equal(t, []string{doubt}, whatIf(t, s, "NetworkPolicy/shop/db", "").Unknown)
	var suggestion web.Suggestion
	w := s.get(t, "/api/v1/suggest?from=shop/web-7d9c5b8f4d-x2x4k&to=shop/db-0&port=80")
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &suggestion), w.Body)
	require.Equal(t, []string{doubt}, suggestion.Unknown)
	var page web.PodPage
	w = s.get(t, "/api/v1/pods/shop/db-0")
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page), w.Body)
	require.Equal(t, []string{doubt}, page.Unknown)
}
