package main

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/reach"
)

func TestImpactMarkdown(t *testing.T) {
	outside := reach.Group{Outside: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	report := &impact.Report{
		Pods: 2, Appeared: []string{"shop/new"},
		Changes: []impact.Effect{
			{From: reach.Group{Pods: []string{"shop/a", "shop/b"}}, To: outside, Opened: "tcp/80", Closed: "udp/53", Family: "IPv4"},
			{From: reach.Group{Pods: []string{"shop/a"}}, To: reach.Group{Pods: []string{"shop/b"}}, Closed: "everything", Family: "IPv6"},
		},
	}
	require.Equal(t, `### Network policy impact

**1 opened, 2 closed** (2 pods compared, 1 added).

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

Added: shop/new
`, impactMarkdown(report, []string{"1 problem"}))
	require.Contains(t, impactMarkdown(&impact.Report{}, nil), "**Cannot tell**")
}

// TestMarkdownIsOnlyText puts markup where names are, and more changes than a comment takes.
func TestMarkdownIsOnlyText(t *testing.T) {
	evil := "a|b`c`\n# <img src=x>[x](http://y) @everyone &lt; **x** \\"
	report := &impact.Report{Pods: 1}
	for range 5000 {
		report.Changes = append(report.Changes, impact.Effect{
			From: reach.Group{Pods: []string{evil}}, To: reach.Group{Pods: []string{evil}}, Opened: strings.Repeat("tcp/1, ", 5000), Closed: "x",
		})
	}
	text := impactMarkdown(report, []string{evil})
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
