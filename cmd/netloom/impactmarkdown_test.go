package main

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/query"
)

func TestImpactMarkdown(t *testing.T) {
	outside := query.Group{Outside: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	impact := &query.Impact{
		Pods: 2, Appeared: []string{"shop/new"},
		Changes: []query.Effect{
			{From: query.Group{Pods: []string{"shop/a", "shop/b"}}, To: outside, Opened: "tcp/80", Closed: "udp/53", Family: "IPv4"},
			{From: query.Group{Pods: []string{"shop/a"}}, To: query.Group{Pods: []string{"shop/b"}}, Closed: "everything", Family: "IPv6"},
		},
	}
	require.Equal(t, `### Network policy impact

**1 opened, 2 closed** (2 pods compared).

> **Incomplete:** 1 problem

#### Opened

| from | to | ports |
|---|---|---|
| shop/a, shop/b | outside 192.0.2.0/24 | tcp/80 |

#### Closed

| from | to | ports |
|---|---|---|
| shop/a, shop/b | outside 192.0.2.0/24 | udp/53 |
| shop/a | shop/b | IPv6: everything |

Not compared, because added: shop/new
`, impactMarkdown(impact, []string{"1 problem"}))
	require.Contains(t, impactMarkdown(&query.Impact{}, nil), "**Cannot tell**")
}

// TestMarkdownIsOnlyText puts markup where names are, and more changes than a comment takes.
func TestMarkdownIsOnlyText(t *testing.T) {
	evil := "a|b`c`\n# <img src=x>[x](http://y) @everyone &lt; **x** \\"
	impact := &query.Impact{Pods: 1}
	for range 5000 {
		impact.Changes = append(impact.Changes, query.Effect{
			From: query.Group{Pods: []string{evil}}, To: query.Group{Pods: []string{evil}}, Opened: strings.Repeat("tcp/1, ", 5000), Closed: "x",
		})
	}
	text := impactMarkdown(impact, []string{evil})
	require.Less(t, len(text), 65_536)
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, "@everyone")
	require.NotContains(t, text, "[x]")
	require.Contains(t, text, "a&#124;b")
	require.Regexp(t, `… and \d+ more: `, text)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| a") {
			require.Equal(t, 4, strings.Count(line, "|"), line)
		}
	}
}

func TestImpactFailsOn(t *testing.T) {
	for _, tc := range []struct {
		failOn string
		code   int
	}{{"opened", exitDone}, {"closed", exitDiffers}, {"any", exitDiffers}, {"never", exitDone}, {"x", exitFailed}} {
		for _, form := range []string{"table", "markdown", "json"} {
			got := netloom(t, "impact", "-f", exampleDir, "--without", "networkpolicy/shop/db", "--fail-on", tc.failOn, "-o", form)
			require.Equal(t, tc.code, got.code, fmt.Sprint(tc, form, got.errout))
		}
	}
}
