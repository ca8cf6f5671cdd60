package cnf

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// managed are the packages that the controller writes.
var managed = []string{"mwan3", "firewall", "ipsec", "firewall-nat", "firewall-rule", "route-cnf", "rule-cnf", "app-cnf"}

// section is a section of UCI as exported.
type section struct {
	pkg, typ, name string
	options        map[string][]string
	text           string
}

// sections parses the export of a device.
func sections(export string) []section {
	var out []section
	pkg := ""
	for _, line := range strings.Split(export, "\n") {
		words := split(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "package":
			pkg = words[1]
			continue
		case words[0] == "config":
			out = append(out, section{pkg: pkg, typ: words[1], options: map[string][]string{}})
			if len(words) > 2 {
				out[len(out)-1].name = words[2]
			}
		default:
			options := out[len(out)-1].options
			options[words[1]] = append(options[words[1]], words[2])
		}
		out[len(out)-1].text += strings.TrimSpace(line) + "\n"
	}
	return out
}

// split splits a line into words, which may be quoted.
func split(line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word, rest, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "'") {
			word, rest, _ = strings.Cut(line[1:], "'")
		}
		out = append(out, word)
		line = rest
	}
	return out
}

// called is the device's name for s.
func (s *section) called() string {
	if own := s.options["name"]; s.name == "" && len(own) > 0 {
		return own[0]
	}
	return s.name
}

// has reports whether an option has a value, or a list an item. An empty value means that there must be none.
func (s *section) has(option, value string) bool {
	if value == "" {
		return len(s.options[option]) == 0
	}
	return slices.Contains(s.options[option], value)
}

// managedSections lists the sections of managed packages as text, sorted.
func managedSections(export string) []string {
	var out []string
	for _, s := range sections(export) {
		if slices.Contains(managed, s.pkg) {
			out = append(out, s.pkg+" "+s.text)
		}
	}
	slices.Sort(out)
	return out
}

// faults lists what is wrong on any device: duplicate names, and references to missing objects.
func faults(export string) []string {
	var out []string
	names := map[string]int{} // by package, type and name
	all := sections(export)
	for i := range all {
		if name := all[i].called(); name != "" {
			names[all[i].pkg+"/"+all[i].typ+" "+name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] > 1 {
			out = append(out, fmt.Sprintf("%s is there %d times", name, names[name]))
		}
	}
	for i := range all {
		s := &all[i]
		for _, ref := range []struct{ pkg, option, typ string }{
			{"mwan3", "use_policy", "policy"},
			{"mwan3", "use_member", "member"},
			{"firewall", "src", "zone"},
			{"firewall", "dest", "zone"},
			{"ipsec", "crypto_proposal", "proposal"},
			{"ipsec", "tunnel", "tunnel"},
			{"ipsec", "transport", "transport"},
		} {
			for _, to := range s.options[ref.option] {
				if s.pkg == ref.pkg && names[ref.pkg+"/"+ref.typ+" "+to] == 0 {
					out = append(out, fmt.Sprintf("%s/%s %s: %s %s is not there", s.pkg, s.typ, s.called(), ref.option, to))
				}
			}
		}
	}
	return out
}

// reloads counts how often each service was made to read its configuration.
func reloads(d *simulator.Device) map[string]int {
	out := map[string]int{}
	for _, a := range d.Actions() {
		out[a.Service]++
	}
	return out
}

// writes counts requests that may change something, except logins.
func writes(d *simulator.Device) int {
	n := 0
	for _, r := range d.Requests() {
		if r.Method != http.MethodGet && !r.Login {
			n++
		}
	}
	return n
}
