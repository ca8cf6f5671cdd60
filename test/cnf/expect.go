package cnf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// expectation finds the function for a verb that expects something; nil for any other step.
func (s *stage) expectation(verb string) func([]string) error {
	return map[string]func([]string) error{
		"device": s.device, "same": s.same, "as-booted": s.asBooted, "status": s.status, "exists": s.exists, "gone": s.gone,
		"going": s.going, "finalizer": s.finalizer, "applied": s.applied, "problem": s.problem, "reloads": s.reloads,
		"writes": s.writes, "quiet": s.quiet, "log": s.logged, "says": s.says, "trace": s.traced,
	}[verb]
}

// device counts sections: device POD PKG/TYPE COUNT [OPTION=VALUE ...]. In any case, there must be no duplicates and no
// references to missing objects.
func (s *stage) device(words []string) error {
	if len(words) < 3 || s.cluster.devices.of(words[0]) == nil {
		return errWords
	}
	want, err := strconv.Atoi(words[2])
	if err != nil {
		return errWords
	}
	export := s.cluster.devices.of(words[0]).device.Export()
	got := 0
	for _, sec := range sections(export) {
		if sec.pkg+"/"+sec.typ != words[1] {
			continue
		}
		all := true
		for _, word := range words[3:] {
			option, value, _ := strings.Cut(word, "=")
			all = all && sec.has(option, value)
		}
		if all {
			got++
		}
	}
	pkg, _, _ := strings.Cut(words[1], "/")
	if got != want {
		return fmt.Errorf("there are %d of:\n%s", got, s.cluster.devices.of(words[0]).device.Export(pkg))
	}
	return asError(faults(export), export)
}

func asError(faults []string, more string) error {
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "\n") + "\n" + more)
}

// same expects equal configuration on pods.
func (s *stage) same(words []string) error {
	first := ""
	for _, pod := range words {
		r := s.cluster.devices.of(pod)
		if r == nil {
			return errWords
		}
		text := strings.Join(managedSections(r.device.Export()), "\n") + r.device.Kernel()
		if first == "" {
			first = text
		}
		if text != first {
			return fmt.Errorf("%s has\n%s\n%s has\n%s", words[0], first, pod, text)
		}
	}
	return nil
}

// asBooted expects pods to have the configuration that they started with.
func (s *stage) asBooted(words []string) error {
	for _, pod := range words {
		r := s.cluster.devices.of(pod)
		if r == nil {
			return errWords
		}
		if now := r.device.Export(); now != r.booted || r.device.Kernel() != "" {
			return fmt.Errorf("%s had\n%s\nand has\n%s\n%s", pod, r.booted, now, r.device.Kernel())
		}
	}
	return nil
}

// standing is the status of an object, in the format of the kinds for devices.
type standing struct {
	v1alpha1.SdewanStatus
	generation int64
	version    string
}

func (s *stage) standing(kind, name string) (*standing, error) {
	namespace, name := two(name)
	o := s.cluster.API.Get(plural(kind), namespace, name)
	if o == nil {
		return nil, errors.New("there is no such object")
	}
	st := &standing{generation: o.GetGeneration(), version: o.GetResourceVersion()}
	m, _ := o.Object["status"].(map[string]any)
	return st, runtime.DefaultUnstructuredConverter.FromUnstructured(m, &st.SdewanStatus)
}

// states are the states as named in scripts.
var states = map[string]v1alpha1.State{
	"none": "", "insync": v1alpha1.InSync, "applying": v1alpha1.Applying, "deleting": v1alpha1.Deleting, "unknown": v1alpha1.Unknown,
}

// status expects: status KIND NAME STATE [TEXT]. In sync means in sync in all three vocabularies, for the current
// generation.
func (s *stage) status(words []string) error {
	if len(words) < 3 {
		return errWords
	}
	want, ok := states[words[2]]
	if !ok {
		return errWords
	}
	for _, name := range strings.Split(words[1], ",") {
		st, err := s.standing(words[0], name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if st.State != want {
			return fmt.Errorf("%s is %q: %+v", name, st.State, st.SdewanStatus)
		}
		if err := st.consistent(); err != nil && !slices.Contains(standsForOthers, plural(words[0])) {
			return fmt.Errorf("%s: %w: %+v", name, err, st)
		}
		if text := strings.Join(words[3:], " "); !strings.Contains(st.Message, text) {
			return fmt.Errorf("%s says %q", name, st.Message)
		}
	}
	return nil
}

// standsForOthers are the kinds whose status differs from that of the kinds for devices.
var standsForOthers = []string{"cnfservices", "cnflocalservices", "cnfhubsites"}

// consistent checks that the vocabularies report the same state.
func (st *standing) consistent() error {
	ready := slices.ContainsFunc(st.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionReady && c.Status == "True" && c.ObservedGeneration == st.generation
	})
	in := st.State == v1alpha1.InSync
	switch {
	case st.InSync != in:
		return errors.New("inSync and state disagree")
	case ready != in:
		return errors.New("condition Ready and state disagree")
	case in && (st.AppliedGeneration != st.generation || st.AppliedVersion == "" || st.AppliedTime == nil || st.Message != ""):
		return errors.New("in sync, and not as it should say so")
	}
	return nil
}

// applied expects: applied KIND NAME never|earlier|now|since=DURATION. It checks which generation was applied, and when.
func (s *stage) applied(words []string) error {
	if len(words) != 3 {
		return errWords
	}
	st, err := s.standing(words[0], words[1])
	if err != nil {
		return err
	}
	got := "now"
	switch {
	case st.AppliedVersion == "" && st.AppliedGeneration == 0:
		got = "never"
	case st.AppliedGeneration != st.generation:
		got = "earlier"
	}
	if since, ok := strings.CutPrefix(words[2], "since="); ok {
		limit, err := time.ParseDuration(since)
		if err != nil || st.AppliedTime == nil || time.Since(st.AppliedTime.Time) > limit {
			return fmt.Errorf("applied at %v", st.AppliedTime)
		}
		return nil
	}
	if got != words[2] {
		return fmt.Errorf("it is %s: %+v", got, st)
	}
	return nil
}

func (s *stage) exists(words []string) error { return s.there(words, true) }

func (s *stage) gone(words []string) error { return s.there(words, false) }

func (s *stage) there(words []string, want bool) error {
	if len(words) < 2 {
		return errWords
	}
	for _, word := range words[1:] {
		namespace, name := two(word)
		if o := s.cluster.API.Get(plural(words[0]), namespace, name); (o != nil) != want {
			return fmt.Errorf("%s: %v", word, o)
		}
	}
	return nil
}

// going expects objects to wait for their finalizers.
func (s *stage) going(words []string) error {
	for _, word := range words[1:] {
		namespace, name := two(word)
		if o := s.cluster.API.Get(plural(words[0]), namespace, name); o == nil || o.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s: %v", word, o)
		}
	}
	return nil
}

// finalizer expects: finalizer KIND NAME FINALIZER|none.
func (s *stage) finalizer(words []string) error {
	if len(words) != 3 {
		return errWords
	}
	namespace, name := two(words[1])
	o := s.cluster.API.Get(plural(words[0]), namespace, name)
	if o == nil {
		return errors.New("there is no such object")
	}
	if got := strings.Join(o.GetFinalizers(), " "); got != strings.TrimPrefix(words[2], "none") {
		return fmt.Errorf("it has %q", got)
	}
	return nil
}

func (s *stage) problem(words []string) error {
	text := strings.Join(words, " ")
	var all []string
	for _, p := range s.cluster.controller.daemon.Pipeline().Problems() {
		all = append(all, p.Error())
	}
	if text == "none" && len(all) == 0 || text != "none" && strings.Contains(strings.Join(all, "\n"), text) {
		return nil
	}
	return fmt.Errorf("there are:\n%s", strings.Join(all, "\n"))
}

// reloads expects, since the last mark: reloads POD none|SERVICE=N ...
func (s *stage) reloads(words []string) error {
	if len(words) < 2 || s.cluster.devices.of(words[0]) == nil {
		return errWords
	}
	got := reloads(s.cluster.devices.of(words[0]).device)
	want := map[string]int{}
	for _, word := range words[1:] {
		if service, n, ok := strings.Cut(word, "="); ok {
			want[service], _ = strconv.Atoi(n) // an invalid number counts as zero
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("there were %v", got)
	}
	return nil
}

// writes expects, since the last mark: writes POD N.
func (s *stage) writes(words []string) error {
	if len(words) != 2 || s.cluster.devices.of(words[0]) == nil {
		return errWords
	}
	d := s.cluster.devices.of(words[0]).device
	if got := writes(d); strconv.Itoa(got) != words[1] {
		return fmt.Errorf("there were %d: %v", got, d.Requests())
	}
	return nil
}

// quiet lets time pass in which nothing may be written, neither to a device nor to the API.
func (s *stage) quiet(words []string) error {
	if err := s.mark(nil); err != nil {
		return err
	}
	if err := s.wait(words); err != nil {
		return err
	}
	for request, n := range s.cluster.API.Requests() {
		verb, _, _ := strings.Cut(request, " ")
		if verb == "update" || verb == "patch" || verb == "create" || verb == "delete" {
			return fmt.Errorf("%s, %d times", request, n)
		}
	}
	for _, r := range s.cluster.devices.all() {
		if n := writes(r.device); n > 0 {
			return fmt.Errorf("%s: %d writes: %v", r.key(), n, r.device.Requests())
		}
	}
	return nil
}

// says expects: says KIND NS/NAME [!]TEXT. It searches the whole object as JSON.
func (s *stage) says(words []string) error {
	if len(words) < 3 {
		return errWords
	}
	namespace, name := two(words[1])
	o := s.cluster.API.Get(plural(words[0]), namespace, name)
	if o == nil {
		return errors.New("there is no such object")
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	unwanted, not := strings.CutPrefix(strings.Join(words[2:], " "), "!")
	if strings.Contains(string(text), unwanted) == not {
		return fmt.Errorf("it says %s", text)
	}
	return nil
}

// logged expects a text in the log, or with ! its absence.
func (s *stage) logged(words []string) error {
	text := strings.Join(words, " ")
	unwanted, not := strings.CutPrefix(text, "!")
	if strings.Contains(s.cluster.log.page.String(), unwanted) == not {
		return errors.New("the log says otherwise")
	}
	return nil
}
