package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
)

// maxHits is how many names of each kind are found.
const maxHits = 20

// Hits is the names of one kind that contain a text.
type Hits struct {
	Kind  string   `json:"kind"` // pod, namespace, service, NetworkPolicy or a kind of cluster-wide policy
	Names []string `json:"names"`
	More  int      `json:"moreNames,omitempty"`
}

// search finds pods, namespaces, policies and Services by a part of their names. Those that begin with it come first.
func (h *Handler) search(r *http.Request, b *board) (any, error) {
	text := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	out := []Hits{}
	if text == "" {
		return map[string]any{"hits": out}, nil
	}
	inv := b.inventory()
	names := map[string][]string{
		"pod": inv.Names(name.Pod), "service": inv.Names(name.Service), "namespace": b.ground().namespaces(),
	}
	list := b.policyList()
	for i := range list {
		ref := list[i].ref()
		names[ref.Kind] = append(names[ref.Kind], ref.NamespacedName())
	}
	for _, kind := range sortedKeys(names) {
		if found := containing(names[kind], text); len(found) > 0 {
			hits := Hits{Kind: kind}
			hits.Names, hits.More = cut(found, maxHits)
			out = append(out, hits)
		}
	}
	return map[string]any{"hits": out}, nil
}

// containing lists the names with a text in them, those first whose last part begins with it.
func containing(names []string, text string) []string {
	var begin, contain []string
	for _, name := range names {
		switch lower := strings.ToLower(name); {
		case strings.HasPrefix(lower[strings.LastIndexByte(lower, '/')+1:], text):
			begin = append(begin, name)
		case strings.Contains(lower, text):
			contain = append(contain, name)
		}
	}
	return append(begin, contain...)
}

// namespaces lists those with a pod that has an address.
func (g *ground) namespaces() []string {
	var out []string
	for i := range g.pods {
		if ns := g.pods[i].Key.Namespace; len(out) == 0 || out[len(out)-1] != ns { // pods are ordered by key
			out = append(out, ns)
		}
	}
	return slices.Clip(out)
}
