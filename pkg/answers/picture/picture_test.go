package picture_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/picture"
)

func drawn(t *testing.T, p *picture.Picture) (dot, svg string) {
	t.Helper()
	var a, b bytes.Buffer
	require.NoError(t, p.WriteDOT(&a))
	require.NoError(t, p.WriteSVG(&b))
	return a.String(), b.String()
}

// TestGroupsShareMembers draws an end that is in two groups once, and only ends of several pods as linked to themselves.
func TestGroupsShareMembers(t *testing.T) {
	web := picture.Member{Box: "shop", Label: "web", Title: "shop/web", Several: true}
	api := picture.Member{Box: "shop", Label: "api", Title: "shop/api"}
	p := &picture.Picture{
		Title:  "A test",
		Groups: []picture.Group{{Members: []picture.Member{web, api}}, {Members: []picture.Member{api}}, {Members: []picture.Member{picture.Outside(nil)}}},
		Links: []picture.Link{
			{From: 0, To: 0, Text: "a"},
			{From: 1, To: 1, Text: "b"},
			{From: 1, To: 2, Text: "c", Kind: picture.Opened},
			{From: 1, To: 2, Text: "d", Kind: picture.Closed},
			{From: 0, To: 1, Text: "e"},
		},
	}
	dot, svg := drawn(t, p)
	for _, line := range []string{
		`n1 -> n1 [label="a"]`, `n1 -> n2 [label="a; e"]`, `n2 -> n1 [label="a"]`, `n2 -> n3 [label="c" color="#1a7f37" class=opened]`,
		`n2 -> n3 [label="d" color="#cf222e" class=closed]`,
	} {
		require.Contains(t, dot, "  "+line+"\n")
	}
	require.NotContains(t, dot, "n2 -> n2")
	require.Equal(t, 5, strings.Count(dot, " -> "))
	require.Equal(t, 5, strings.Count(svg, `class="arc `))
	require.Contains(t, svg, "<title>A test</title>")
}

// TestManyArrowsAreBetweenGroups draws one arrow in place of 400.
func TestManyArrowsAreBetweenGroups(t *testing.T) {
	p := &picture.Picture{Groups: []picture.Group{{Name: "group 1"}, {Name: "group 2"}}, Links: []picture.Link{{From: 0, To: 1, Text: "all"}}}
	for i := range 40 {
		g := &p.Groups[i%2]
		g.Members = append(g.Members, picture.Member{Box: fmt.Sprintf("ns-%d", i/10), Label: fmt.Sprint(i), Title: fmt.Sprint(i)})
	}
	dot, svg := drawn(t, p)
	require.Equal(t, 1, strings.Count(dot, `[label="all"]`))
	require.Equal(t, 40, strings.Count(dot, "dir=none"))
	require.Equal(t, 1, strings.Count(svg, `class="arc `))
	require.Equal(t, 40, strings.Count(svg, `class="join"`))
	require.Equal(t, 42, strings.Count(svg, `class="node`))
}

func TestOutside(t *testing.T) {
	var many []netip.Prefix
	for i := range 20 {
		many = append(many, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(2 * i), 0, 0}), 16))
	}
	m := picture.Outside(many)
	require.Equal(t, "20 blocks", m.Label)
	require.Equal(t, 19, strings.Count(m.Title, ", "))
	require.Equal(t, "192.0.2.0/24", picture.Outside([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}).Label)
}
