//go:build e2e

package e2e_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// templates are the load balancers of a database whose backends differ by chassis, which ovn-trace cannot read.
type templates struct {
	vips []templateVIP
	// hosts are the load balancers that each switch and router has.
	hosts     map[string][]string
	variables map[string]map[string]string // by chassis
}

// templateVIP is one entry of such a load balancer.
type templateVIP struct{ balancer, protocol, key, value string }

// row is a row as ovn-nbctl prints it.
type row map[string]any

func list(t *testing.T, lab *ovnlab.Lab, table string) []row {
	t.Helper()
	var out struct {
		Headings []string
		Data     [][]any
	}
	require.NoError(t, json.Unmarshal([]byte(lab.NBCtl("--format=json", "list", table)), &out), table)
	var rows []row
	for _, data := range out.Data {
		r := row{}
		for i, heading := range out.Headings {
			r[heading] = data[i]
		}
		rows = append(rows, r)
	}
	return rows
}

// text is a column that is a string or empty.
func (r row) text(column string) string {
	s, _ := r[column].(string)
	return s
}

// references are the UUIDs in a column: OVSDB writes one as ["uuid", X] and others as ["set", [["uuid", X], ...]].
func (r row) references(column string) []string {
	value := r[column].([]any)
	if value[0] == "uuid" {
		return []string{value[1].(string)}
	}
	var all []string
	for _, v := range value[1].([]any) {
		all = append(all, v.([]any)[1].(string))
	}
	return all
}

// pairs returns the pairs of a map column, written as ["map", [[K, V], ...]].
func (r row) pairs(column string) map[string]string {
	all := map[string]string{}
	for _, p := range r[column].([]any)[1].([]any) {
		all[p.([]any)[0].(string)] = p.([]any)[1].(string)
	}
	return all
}

func readTemplates(t *testing.T, lab *ovnlab.Lab) *templates {
	t.Helper()
	all := &templates{hosts: map[string][]string{}, variables: map[string]map[string]string{}}
	for _, r := range list(t, lab, "Load_Balancer") {
		if r.pairs("options")["template"] != "true" {
			continue
		}
		for key, value := range r.pairs("vips") {
			all.vips = append(all.vips, templateVIP{r.references("_uuid")[0], r.text("protocol"), key, value})
		}
	}
	members := map[string][]string{}
	for _, r := range list(t, lab, "Load_Balancer_Group") {
		members[r.references("_uuid")[0]] = r.references("load_balancer")
	}
	for _, table := range []string{"Logical_Switch", "Logical_Router"} {
		for _, r := range list(t, lab, table) {
			has := r.references("load_balancer")
			for _, g := range r.references("load_balancer_group") {
				has = append(has, members[g]...)
			}
			all.hosts[r.text("name")] = has
		}
	}
	for _, r := range list(t, lab, "Chassis_Template_Var") {
		all.variables[r.text("chassis")] = r.pairs("variables")
	}
	return all
}

// backends returns those that a packet is sent to on a chassis by the rows of a switch or router, sorted; ok is false when
// nothing there differs by chassis for it. An undefined variable fails the test.
func (all *templates) backends(t *testing.T, host, chassis string, f ovnlab.Flow) (found []netip.AddrPort, ok bool) {
	t.Helper()
	expand := func(text string) string {
		name, variable := strings.CutPrefix(text, "^")
		if !variable {
			return text
		}
		value, defined := all.variables[chassis][name]
		require.True(t, defined, "%s on chassis %q", text, chassis)
		return value
	}
	for _, v := range all.vips {
		if v.protocol != f.Protocol || !slices.Contains(all.hosts[host], v.balancer) {
			continue
		}
		key := v.key
		if at := strings.LastIndexByte(key, ':'); strings.HasPrefix(key, "^") {
			key = netip.MustParseAddr(expand(key[:at])).String()
			if strings.Contains(key, ":") {
				key = "[" + key + "]"
			}
			key += v.key[at:]
		}
		if netip.MustParseAddrPort(key) != netip.AddrPortFrom(f.Dst, f.Port) {
			continue
		}
		require.False(t, ok, "two templates have %s", key)
		ok = true
		if v.value == "" {
			continue // no backend on any chassis
		}
		for part := range strings.SplitSeq(v.value, ",") {
			for text := range strings.SplitSeq(expand(part), ",") {
				found = append(found, netip.MustParseAddrPort(text))
			}
		}
	}
	slices.SortFunc(found, netip.AddrPort.Compare)
	return found, ok
}
