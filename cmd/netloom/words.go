package main

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
)

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// shownRules is how many rules and endpoints of an answer are shown.
const shownRules = 8

// some formats the first few of a list.
func some[T any](list []T, format func(T) string) string {
	var words []string
	for _, v := range list[:min(len(list), shownRules)] {
		words = append(words, format(v))
	}
	if more := len(list) - shownRules; more > 0 {
		words = append(words, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(words, ", ")
}

// groupText names the pods and the addresses outside of a group.
func groupText(g *reach.Group) string {
	var parts []string
	if len(g.Pods) > 0 {
		parts = append(parts, some(g.Pods, strings.Clone))
	}
	if len(g.Outside) > 0 {
		parts = append(parts, "outside "+intent.PrefixText(g.Outside))
	}
	if g.Selected != "" {
		parts = append(parts, g.SelectedText())
	}
	return strings.Join(parts, " and ")
}

// undecidedText names the clusters whose policies an answer does not consider.
func undecidedText(clusters []string) string {
	return "not considered: the policies at pods of other clusters: " + some(clusters, strings.Clone)
}
