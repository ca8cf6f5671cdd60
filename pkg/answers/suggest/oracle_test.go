package suggest_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/suggest"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// TestSuggestionsOpenExactlyWhatWasAsked suggests policies for denied connections of random clusters, and asks the oracle
// about every pair of pods, with the policies and without: only the connections may change, or what the suggestion admits.
func TestSuggestionsOpenExactlyWhatWasAsked(t *testing.T) {
	count := map[string]int{}
	seeds.Each(t, "suggest", func(t *testing.T, seed uint64) {
		size := policygen.Size{Pods: 10, Policies: 5}
		if seed%3 == 0 {
			size.Cluster = 4
		}
		cluster := policygen.Generate(seed, size)
		cluster.Answers = nil
		checkSuggestion(t, seed, cluster, count)
	})
	t.Log(count)
	if seeds.All() {
		for _, what := range []string{"exact", "beyond", "refused", "several"} {
			require.NotZero(t, count[what], "%s never happened: %v", what, count)
		}
	}
}

func checkSuggestion(t *testing.T, seed uint64, cluster *oracle.Cluster, count map[string]int) {
	t.Helper()
	state, apply := stateOf(t, policygen.Objects(cluster))
	inv, before := world.New(state), cluster.Freeze()
	var wanted []question.Connection
	questions := map[string]bool{}
	for _, f := range policygen.Probes(cluster, policygen.NewRand(seed), 60) {
		if f.Src.Pod == "" || f.Dst.Pod == "" || f.Src.Pod == f.Dst.Pod || len(questions) > int(seed%4) || before.Allowed(f).Allowed {
			continue
		}
		q := question.Question{From: f.Src.Pod, To: f.Dst.Pod, Port: strings.Replace(portOf(f), "icmp6", "icmp", 1)}
		list, err := question.Connections(inv, q, question.Where{})
		require.NoError(t, err, "seed %d: %s", seed, q)
		wanted = append(wanted, list...)
		questions[q.String()] = true
	}
	got, err := suggest.For(state, wanted, apply)
	require.NoError(t, err, "seed %d: %s", seed, slices.Collect(maps.Keys(questions)))
	if len(got.Refused) > 0 {
		count["refused"]++
	}
	if len(got.Policies) == 0 || got.More > 0 {
		return // nothing to check, or not everything is listed
	}
	kinds := map[bool]string{true: "exact", false: "beyond"}
	count[kinds[len(got.Beyond) == 0]]++
	if len(got.Policies) > 2 {
		count["several"]++
	}
	after := *cluster
	after.Policies = slices.Concat(cluster.Policies, got.Policies)
	open := map[string]asked{}
	for i := range wanted {
		text := wanted[i].String()
		open[text] = allowed
		if strings.Contains(text, " icmp") || slices.ContainsFunc(got.Refused, func(r suggest.Refusal) bool { return r.Connection == text }) {
			open[text] = either
		}
	}
	admitted, ports := map[string]bool{}, []int{1, 80, 443, 5432, 8080, 65535}
	for _, e := range got.Beyond {
		admitted[e.From+" -> "+e.To] = true
		for _, text := range portNumber.FindAllString(e.Opened+" "+e.Closed, -1) {
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			ports = append(ports, n)
		}
	}
	for i := range wanted {
		n := int(wanted[i].Port)
		ports = append(ports, max(1, n-1), n, min(65535, n+1))
	}
	require.Empty(t, differences(before, after.Freeze(), cluster, ports, open, admitted), "seed %d: %s\n%s", seed,
		slices.Sorted(maps.Keys(open)), spell(got.Policies))
}

// asked is what was asked for a connection.
type asked int

const (
	other   asked = iota // nothing
	allowed              // to be allowed
	either               // to be allowed, which no policy can do for all addresses of the pods
)

// differences lists the connections between pods that the oracle decides otherwise than a suggestion claims.
func differences(before, after *oracle.Frozen, c *oracle.Cluster, ports []int, open map[string]asked,
	admitted map[string]bool,
) []string {
	var out []string
	changed := map[string]bool{}
	for _, from := range endsOf(c) {
		for _, to := range endsOf(c) {
			if from.Addr.Is4() != to.Addr.Is4() || from.Pod == to.Pod || from.Addr == to.Addr {
				continue
			}
			pair := from.Pod + " -> " + to.Pod
			for _, f := range flowsFor(from, to, ports) {
				was, is := before.Allowed(f).Allowed, after.Allowed(f).Allowed
				text := pair + " " + portOf(f)
				changed[pair] = changed[pair] || was != is && open[text] != allowed
				switch {
				case open[text] == allowed && !is:
					out = append(out, text+" stays denied")
				case was != is && open[text] == other:
					if !admitted[pair] {
						out = append(out, fmt.Sprintf("%s: %v became %v", text, was, is))
					}
				}
			}
		}
	}
	for pair := range admitted {
		if !changed[pair] && !strings.Contains(pair, "outside") {
			out = append(out, pair+" does not change, but the suggestion says so")
		}
	}
	return out
}

// portNumber matches the ends of port ranges in the format of reach.Traffic.
var portNumber = regexp.MustCompile(`[0-9]+`)

// flowsFor are the flows between two ends on some ports, and without a port.
func flowsFor(from, to oracle.End, ports []int) []oracle.Flow {
	out := []oracle.Flow{{Src: from, Dst: to, Protocol: oracle.ICMP}}
	for _, p := range slices.Compact(slices.Sorted(slices.Values(ports))) {
		for _, proto := range []string{"TCP", "UDP", "SCTP"} {
			out = append(out, oracle.Flow{Src: from, Dst: to, Protocol: protocolOf(proto), Port: int32(p)})
		}
	}
	return out
}

func spell(policies []*networkingv1.NetworkPolicy) string {
	var b strings.Builder
	for _, p := range policies {
		fmt.Fprintf(&b, "%s/%s %+v\n", p.Namespace, p.Name, p.Spec)
	}
	return b.String()
}
