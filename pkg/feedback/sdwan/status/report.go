package status

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
)

// NotAvailable stands in a CNFStatus for a pod that returned no report.
const NotAvailable = "Not Available"

// Report is what a CNF reports about itself, module by module.
type Report []Module

// Module is a part of a report. Status is JSON.
type Module struct {
	Name   string          `json:"name"`
	Status json.RawMessage `json:"status"`
	// Omitted describes what was left out of Status because it is too long; "" if nothing was.
	Omitted string `json:"omitted,omitempty"`
}

// conntrack is the module that is cut first: it has an entry for each connection.
const conntrack = "conntrack"

// Text formats r as JSON in at most limit bytes: connections are left out first, then whole modules, the longest first.
// Each shortened module is marked.
func (r Report) Text(limit int) string {
	r = slices.Clone(r)
	text := r.encode()
	if i := slices.IndexFunc(r, func(m Module) bool { return m.Name == conntrack }); i >= 0 && len(text) > limit {
		r[i] = r[i].cut(len(r[i].Status) - (len(text) - limit))
		text = r.encode()
	}
	for len(text) > limit {
		longest := slices.MaxFunc(r, func(a, b Module) int { return cmp.Compare(len(a.Status), len(b.Status)) })
		i := slices.IndexFunc(r, func(m Module) bool { return m.Name == longest.Name })
		if len(r[i].Status) <= len("null") {
			return NotAvailable // there are more modules than fit
		}
		r[i] = Module{Name: longest.Name, Status: json.RawMessage("null"), Omitted: "all of it: too long"}
		text = r.encode()
	}
	return text
}

func (r Report) encode() string {
	for i := range r {
		if !json.Valid(r[i].Status) {
			r[i].Status = json.RawMessage("null")
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return NotAvailable // valid input never fails
	}
	return string(text)
}

// cut keeps the first entries of a list, in about limit bytes.
func (m Module) cut(limit int) Module {
	var entries []json.RawMessage
	if json.Unmarshal(m.Status, &entries) != nil {
		return m
	}
	const words = 64 // for the text that notes missing entries
	kept, size := 0, words
	for kept < len(entries) && size+len(entries[kept])+1 <= limit {
		size += len(entries[kept]) + 1
		kept++
	}
	if kept == len(entries) {
		return m
	}
	missing := len(entries) - kept
	text, err := json.Marshal(append([]json.RawMessage{}, entries[:kept]...))
	if err != nil {
		return m
	}
	return Module{Name: m.Name, Status: text, Omitted: "the last " + strconv.Itoa(missing) + " of " + strconv.Itoa(len(entries)) + " entries"}
}

// The size limits of a CNFStatus, in bytes.
const (
	maxPodBytes = 16 << 10
	maxBytes    = 512 << 10
)

// Limit returns how long the report of one pod may be if there are that many.
func Limit(pods int) int { return min(maxPodBytes, maxBytes/max(1, pods)) }

// Tunnels is the state of a CNF's tunnels.
type Tunnels struct {
	Up, Connecting int
	Complete       bool // all that are configured are up or on their way
}

// Tunnels reads the module ipsec; false if there is none, or it cannot be read.
func (r Report) Tunnels() (Tunnels, bool) {
	i := slices.IndexFunc(r, func(m Module) bool { return m.Name == "ipsec" })
	if i < 0 {
		return Tunnels{}, false
	}
	var ipsec struct {
		InitConnection string `json:"InitConnection"`
		Details        []struct {
			Up         json.RawMessage `json:"up"`
			Connecting json.RawMessage `json:"connecting"`
		} `json:"details"`
	}
	if json.Unmarshal(r[i].Status, &ipsec) != nil || ipsec.InitConnection == "" {
		return Tunnels{}, false
	}
	t := Tunnels{Complete: ipsec.InitConnection == "success"}
	for _, d := range ipsec.Details {
		t.Up += number(d.Up)
		t.Connecting += number(d.Connecting)
	}
	return t, true
}

// number reads a number, which the device writes as text; 0 if it is none.
func number(raw json.RawMessage) int {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// Shown returns the status of a CNFStatus that shows what pods reported at a time.
func Shown(
	had *v1alpha1.CNFStatusStatus, generation int64, information []v1alpha1.CNFInformation, at metav1.Time,
) *v1alpha1.CNFStatusStatus {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Reported"}
	silent := 0
	for i := range information {
		if information[i].Status == NotAvailable {
			silent++
		}
	}
	if silent > 0 {
		ready.Status, ready.Reason = metav1.ConditionFalse, "NotAvailable"
		ready.Message = strconv.Itoa(silent) + " of " + strconv.Itoa(len(information)) + " pods returned no report"
	}
	return &v1alpha1.CNFStatusStatus{
		AppliedGeneration: generation, AppliedTime: &at, Information: information,
		Conditions: state.Dated([]metav1.Condition{ready}, had.Conditions, generation, at),
	}
}
