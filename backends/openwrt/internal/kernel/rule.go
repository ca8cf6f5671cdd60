package kernel

import (
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Rule is a routing rule. A priority of 0 is any: the kernel then chooses one. A table that is not known is "".
type Rule struct {
	Prio                  uint64
	Not                   bool
	Src, Dst, Mark, Table string
}

// is reports whether the kernel's r is the rule that an object stands for. Its table may not be known.
func (r Rule) is(o Rule) bool {
	if o.Prio == 0 {
		r.Prio = 0
	}
	if r.Table == "" {
		r.Table = o.Table
	}
	return r == o
}

// String formats the rule as for the command that makes it.
func (r Rule) String() string {
	var words []string
	if r.Not {
		words = append(words, "not")
	}
	prio := ""
	if r.Prio != 0 {
		prio = strconv.FormatUint(r.Prio, 10)
	}
	for _, p := range [][2]string{{"prio", prio}, {"from", r.Src}, {"to", r.Dst}, {"fwmark", r.Mark}, {"lookup", r.Table}} {
		if p[1] != "" {
			words = append(words, p[0], p[1])
		}
	}
	return strings.Join(words, " ")
}

// object returns the object with which the device removes exactly this rule.
func (r Rule) object(names section.Namer) openwrt.Object {
	return openwrt.ObjectOf(openwrt.RouteRule{
		Name: names.Object(openwrt.RouteRules, "surplus "+r.String(), ""), Src: r.Src, Dst: r.Dst,
		Prio: strconv.FormatUint(r.Prio, 10), Table: r.Table, FWMark: r.Mark, Not: r.Not,
	})
}

// RulesOf returns the routing rules that an object stands for.
func RulesOf(kind openwrt.Kind, o openwrt.Object) []Rule {
	if kind == openwrt.RouteRules {
		not, _ := o["flag"].(bool)
		prio, _ := strconv.ParseUint(section.Text(o, "prio"), 10, 64)
		return []Rule{{
			prio, not, prefixName(section.Text(o, "src")), prefixName(section.Text(o, "dst")), markName(section.Text(o, "fwmark")), tableName(section.Text(o, "table")),
		}}
	}
	var out []Rule
	if kind == openwrt.Applications {
		for a := range strings.SplitSeq(section.Text(o, "iplist"), ",") {
			if a != "" {
				out = append(out, Rule{Src: a, Table: cnfTable})
			}
		}
	}
	return out
}
