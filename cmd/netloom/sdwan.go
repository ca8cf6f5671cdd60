package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/answers/explain"
	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// sdwanTables are the CNFs of a snapshot, and their intended configuration.
func sdwanTables(d *intents.List) []*table {
	cnfs := table{head: []string{"DEVICE", "SCOPE", "WORKLOAD", "ADDRESS", "STATE"}}
	for n := range d.CNFs {
		g := &d.CNFs[n]
		cnfs.add(g.Target, g.Scope, g.Group, cmp.Or(g.Address, "none"), cmp.Or(g.Conflict, g.State))
	}
	intents := table{head: []string{"RESOURCE", "SCOPE", "BECOMES", "CONFIGURATION"}}
	for n := range d.DeviceIntents {
		e := &d.DeviceIntents[n]
		intents.add(e.Origin, e.Scope, e.Kind, deviceText(e))
	}
	return []*table{&cnfs, &intents}
}

// deviceText formats the content of a device intent. References to objects of its scope omit the scope.
func deviceText(e *intents.Device) string {
	if e.Gone {
		return "to be deleted"
	}
	if e.Unknown {
		return "not known yet: devices keep what they have"
	}
	text := strings.ReplaceAll(intents.FieldsText(e.Wants), "="+e.Scope+"/", "=")
	if e.Adopts != "" {
		text = "replaces " + e.Adopts + ": " + text
	}
	return text
}

// sdwan writes what an SD-WAN object configures.
func (w *answerWriter) sdwan(e *explain.SDWAN) {
	w.line("%s", w.palette.bold(e.Name))
	w.problems(e.Problems)
	for _, field := range []struct{ name, text string }{
		{"scope", e.Scope},
		{"state", strings.TrimSuffix(e.State+": "+e.Message, ": ")},
		{"used by", some(e.NeededBy, strings.Clone)},
		{"note", e.Note},
	} {
		if field.text != "" && field.text != ": " {
			w.line("  %-7s  %s", field.name, field.text)
		}
	}
	for i := range e.Wants {
		one := &e.Wants[i]
		w.line("")
		w.line("%s: %s", one.Kind, deviceText(one))
		for _, id := range one.Needs {
			w.line("  needs  %s", strings.TrimPrefix(id, one.Scope+"/"))
		}
	}
	if len(e.Wants) == 0 {
		return
	}
	w.line("")
	if len(e.CNFs) == 0 {
		w.line("no CNF has that purpose")
		return
	}
	cnfs := table{head: []string{"DEVICE", "ADDRESS", "STATE"}}
	for i := range e.CNFs {
		g := &e.CNFs[i]
		cnfs.add(g.Target, cmp.Or(g.Address, "none"), cmp.Or(g.Conflict, g.State))
	}
	_, _ = w.WriteString(cnfs.text("", w.palette)) // it never fails
}

// sdwanSections are the sections made from an SD-WAN object on each of its CNFs.
func sdwanSections(inv *world.World, e *explain.SDWAN) map[string][]openwrt.Section {
	out := map[string][]openwrt.Section{}
	for i := range e.CNFs {
		g := inv.Snapshot().CNF(intent.CNFID(e.CNFs[i].ID))
		for n := range e.Wants {
			if sdwan := inv.Snapshot().DeviceIntent(intent.DeviceIntentID(e.Wants[n].ID)); g != nil && sdwan != nil {
				out[e.CNFs[i].Target] = openwrt.SectionsOf(inv.Snapshot(), g, defaultOwner, sdwan.Origin)
				break
			}
		}
	}
	return out
}

// sectionsText formats sections, each with the CNFs that have the same one.
func sectionsText(of map[string][]openwrt.Section, i palette) string {
	alike := map[string][]string{}
	for _, target := range slices.Sorted(maps.Keys(of)) {
		text := ""
		for k := range of[target] {
			text += sectionText(&of[target][k])
		}
		alike[text] = append(alike[text], target)
	}
	var b strings.Builder
	for _, text := range slices.Sorted(maps.Keys(alike)) {
		if text != "" {
			b.WriteString("\n" + i.bold("on "+strings.Join(alike[text], ", ")) + "\n" + text)
		}
	}
	return b.String()
}

func sectionText(s *openwrt.Section) string {
	text := "  " + s.String() + "\n"
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		text += fmt.Sprintf("    %s: %v\n", name, s.Fields[name])
	}
	return text
}
