package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// selectorFlag selects pods by their labels.
type selectorFlag struct {
	text     string
	selector labels.Selector // after check
}

// bindSelector adds the flag -l to a command that lists pods.
func bindSelector(cmd *cobra.Command) *selectorFlag {
	f := &selectorFlag{}
	cmd.Flags().StringVarP(&f.text, "selector", "l", "", "list only pods with these labels, such as app=web,tier!=db or 'app in (web, api)'")
	return f
}

func (f *selectorFlag) set() bool { return f.text != "" }

// check reads the flag.
func (f *selectorFlag) check() error {
	var err error
	if f.selector, err = labels.Parse(f.text); err != nil {
		return fmt.Errorf("--selector: %q: expected labels such as app=web,tier!=db: %w", f.text, err)
	}
	return nil
}

func (f *selectorFlag) matches(e *labelcache.Endpoint) bool {
	return f.selector.Matches(labels.Set(e.Labels))
}

// among are the pods with the labels: of some ends, or of all if there are none. There is at least one.
func (f *selectorFlag) among(inv *world.World, of []world.End) ([]world.End, error) {
	var out []world.End
	for _, e := range inv.Endpoints() {
		if f.matches(e) && (of == nil || slices.ContainsFunc(of, func(end world.End) bool { return end.Key == e.Key })) {
			out = append(out, world.End{Key: e.Key})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--selector: %q: no pod with these labels", f.text)
	}
	return out, nil
}

// subjects are the pods with the labels; see object.Key.Subject.
func (f *selectorFlag) subjects(view labelcache.View) map[object.Key]bool {
	out := map[object.Key]bool{}
	for e := range view.Endpoints() {
		if f.matches(e) {
			out[e.Key.Subject()] = true
		}
	}
	return out
}
