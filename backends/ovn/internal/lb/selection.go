package lb

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/ovsdb"
)

// Selection selects the logical switches, or the routers, of each logical network. Create it with ParseSelection; the
// zero value selects nothing.
type Selection struct {
	entries map[string][]pattern // by network; "" means the default one
}

// pattern selects rows by name or by a key of external_ids.
type pattern struct {
	excludes bool
	exact    bool   // it has neither * nor ?
	key      string // of external_ids; "" matches the name
	value    *regexp.Regexp
}

// externalIDs begins a pattern that matches external_ids.
const externalIDs = "external_ids:"

// ParseSelection parses which logical switches or routers to select, as comma-separated entries:
//
//	ovn-default, node-*            names; * matches any text and ? any character
//	external_ids:KEY=VALUE         those with that pair in external_ids; the value may contain * and ?
//	!join                          not these, even if another entry selects them
//	vpc1=vpc1-*                    for the logical network vpc1 instead of the default one
//
// If there are only exclusions, everything else is selected. Switches with a port to the outside are selected only by
// entries without * and ?.
func ParseSelection(s string) (Selection, error) {
	sel := Selection{entries: map[string][]pattern{}}
	if strings.TrimSpace(s) == "" {
		return sel, nil
	}
	for entry := range strings.SplitSeq(s, ",") {
		network, p, err := parsePattern(strings.TrimSpace(entry))
		if err != nil {
			return Selection{}, err
		}
		sel.entries[network] = append(sel.entries[network], p)
	}
	return sel, nil
}

func parsePattern(entry string) (network string, p pattern, err error) {
	text, excludes := strings.CutPrefix(entry, "!")
	if !strings.HasPrefix(text, externalIDs) {
		if before, after, named := strings.Cut(text, "="); named {
			network, text = before, after
			if network == "" {
				return "", p, fmt.Errorf("%q: expected the name of a network before the equals sign", entry)
			}
			if rest, also := strings.CutPrefix(text, "!"); also {
				text, excludes = rest, true
			}
		}
	}
	p.excludes = excludes
	if pair, ok := strings.CutPrefix(text, externalIDs); ok {
		key, value, found := strings.Cut(pair, "=")
		if key == "" || !found {
			return "", p, fmt.Errorf("%q: expected %sKEY=VALUE", entry, externalIDs)
		}
		p.key, text = key, value
	} else if text == "" || strings.Contains(text, "=") {
		return "", p, fmt.Errorf("%q: expected a name with or without *, %sKEY=VALUE, !PATTERN or NETWORK=PATTERN", entry, externalIDs)
	}
	p.exact, p.value = !strings.ContainsAny(text, "*?"), glob(text)
	return network, p, nil
}

// glob matches a whole text, in which * is any text and ? any character.
func glob(text string) *regexp.Regexp {
	expr := regexp.QuoteMeta(text)
	expr = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(expr)
	return regexp.MustCompile("(?s)^" + expr + "$")
}

// names reports whether there are entries for a network.
func (s Selection) names(network string) bool { return len(s.entries[network]) > 0 }

// selects reports whether a switch or router belongs to a network.
func (s Selection) selects(network string, d *ovsdb.Datapath) bool {
	taken, only := false, true // only exclusions so far
	for _, p := range s.entries[network] {
		hit := p.matches(d)
		if p.excludes {
			if hit {
				return false
			}
			continue
		}
		only = false
		taken = taken || hit
	}
	return taken || only && s.names(network)
}

// namesExactly reports whether an entry selects exactly this switch or router: by its full name or external_ids.
func (s Selection) namesExactly(network string, d *ovsdb.Datapath) bool {
	return slices.ContainsFunc(s.entries[network], func(p pattern) bool { return p.exact && !p.excludes && p.matches(d) })
}

func (p *pattern) matches(d *ovsdb.Datapath) bool {
	if p.key == "" {
		return p.value.MatchString(d.Name)
	}
	value, ok := d.ExternalIDs[p.key]
	return ok && p.value.MatchString(value)
}
