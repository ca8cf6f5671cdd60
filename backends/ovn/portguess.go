package ovn

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
)

// guess is a naming pattern that logical ports in the database may follow, other than the configured ones.
type guess struct {
	text     string
	template template
	hits     int    // how many of the endpoints checked have a port of that name
	expected string // the name of one of them
}

// sampled is how many endpoints port names are compared with, and maxGuesses how many patterns are tried on all endpoints.
const (
	sampled    = 16
	maxGuesses = 16
)

// guessPatterns lists the patterns by which ports may be named after endpoints, the best first: those that find ports for
// at least half as many endpoints as the best. Both lists are sorted. Exists reports whether a port has a name.
func guessPatterns(endpoints []object.Key, names []string, exists func(name string) bool) []guess {
	votes := map[string]int{}
	step := max(1, len(endpoints)/sampled)
	for i := 0; i < len(endpoints); i += step {
		k := endpoints[i]
		if k.Namespace == "" || k.Name == "" {
			continue
		}
		for _, name := range names {
			if strings.Contains(name, k.Name) && strings.Contains(name, k.Namespace) {
				for _, text := range patternsOf(name, k) {
					votes[text]++
				}
			}
		}
	}
	texts := slices.SortedFunc(maps.Keys(votes), func(a, b string) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b))
	})
	var out []guess
	for _, text := range texts[:min(len(texts), maxGuesses)] {
		t, err := parseTemplate(text)
		if err != nil {
			continue
		}
		g := guess{text: text, template: t}
		for _, k := range endpoints {
			if name := t.fill(k); exists(name) {
				g.hits, g.expected = g.hits+1, cmp.Or(g.expected, name)
			}
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b guess) int { return cmp.Or(cmp.Compare(b.hits, a.hits), cmp.Compare(a.text, b.text)) })
	return slices.DeleteFunc(out, func(g guess) bool { return g.hits == 0 || 2*g.hits < out[0].hits })
}

// patternsOf lists the patterns that give a name for k: one for each place where its namespace and its name occur next to
// each other as words.
func patternsOf(name string, k object.Key) []string {
	if strings.ContainsAny(name, "{},") {
		return nil
	}
	var out []string
	for _, pod := range wordsAt(name, k.Name) {
		for _, ns := range wordsAt(name, k.Namespace) {
			podEnd, nsEnd := pod+len(k.Name), ns+len(k.Namespace)
			switch {
			case podEnd <= ns:
				out = append(out, name[:pod]+"{pod}"+name[podEnd:ns]+"{namespace}"+name[nsEnd:])
			case nsEnd <= pod:
				out = append(out, name[:ns]+"{namespace}"+name[nsEnd:pod]+"{pod}"+name[podEnd:])
			}
		}
	}
	return out
}

// wordsAt lists where word occurs in text with no letter or digit next to it.
func wordsAt(text, word string) []int {
	var out []int
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return out
		}
		i += from
		end := i + len(word)
		if (i == 0 || !alphanumeric(text[i-1])) && (end == len(text) || !alphanumeric(text[end])) {
			out = append(out, i)
		}
		from = i + 1
	}
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// presetOf returns the value to configure for a pattern.
func presetOf(text string) string {
	switch text {
	case namesOVNKubernetes:
		return "ovn-kubernetes"
	case namesKubeOVN:
		return "kube-ovn"
	default:
		return "'" + text + "'"
	}
}

// hintOf describes what is probably wrong with how ports are looked up, "" if nothing seems to be: guesses are patterns
// of ports that would leave their groups.
func hintOf(ports portFinder, now backends.Coverage, guesses []guess) string {
	missing := endpointsOf(now.Missing)
	if len(missing) == 0 {
		return "" // pods without an address do not indicate a problem
	}
	names := ports.client.PortNames()
	if len(guesses) == 0 {
		guesses = guessPatterns(missing, names, func(name string) bool {
			_, ok := slices.BinarySearch(names, name)
			return ok
		})
	}
	start := fmt.Sprintf("pods are not found by %s: expected logical port %s, the database has", ports.names, ports.expected(missing[0]))
	switch {
	case len(guesses) > 0 && 2*guesses[0].hits >= len(missing):
		return fmt.Sprintf("%s %s; try --ovn-port-names %s", start, guesses[0].expected, presetOf(guesses[0].text))
	case len(missing) < now.Selected:
		return "" // others are found by this pattern
	case len(names) == 0:
		return start + " no logical ports of pods"
	default:
		return fmt.Sprintf("%s names such as %s; check --ovn-port-names", start, strings.Join(names[:min(len(names), 2)], ", "))
	}
}

func endpointsOf(gaps backends.Gaps) []object.Key {
	out := make([]object.Key, 0, gaps.Len())
	for gap := range gaps.All() {
		out = append(out, gap.Endpoint)
	}
	return out
}
