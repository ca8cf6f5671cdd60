package cnf

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/daemon"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/script"
)

// stage is where a script runs.
type stage struct {
	cluster *Cluster
	files   map[string]string
}

var errWords = errors.New("the words are not what the step takes: see the package's documentation")

// do runs a step and lets everything settle, or checks an expectation.
func (s *stage) do(step script.Step) error {
	verb, words := step.Words[0], step.Words[1:]
	if expect := s.expectation(verb); expect != nil {
		return expect(words)
	}
	actions := map[string]func([]string) error{
		"cnf": s.cnf, "scale": s.scale, "pod": s.pod, "app": s.app, "dns": s.dns, "secret": s.secret, "apply": s.apply,
		"edit": s.edit, "delete": s.delete, "controller": s.controllerStep, "api": s.api, "fault": s.fault, "hand": s.hand,
		"wait": s.wait, "mark": s.mark,
	}
	act := actions[verb]
	if act == nil {
		return errors.New("there is no such step")
	}
	if err := act(words); err != nil {
		return err
	}
	if verb != "mark" {
		time.Sleep(rest)
	}
	return nil
}

// two splits NS/NAME.
func two(word string) (namespace, name string) {
	namespace, name, _ = strings.Cut(word, "/")
	return namespace, name
}

func (s *stage) cnf(words []string) error {
	if len(words) < 3 {
		return errWords
	}
	w := workload{purpose: words[1]}
	w.namespace, w.name = two(words[0])
	replicas, err := strconv.Atoi(words[2])
	if err != nil {
		return errWords
	}
	for _, word := range words[3:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "kind":
			w.kind = value
		case "networks":
			w.networks = strings.Split(value, ",")
		case "multus":
			w.status = true
		case "tls":
			w.tls = true
		case "open":
			w.open = true
		default:
			return errWords
		}
	}
	return s.cluster.Network(w, replicas)
}

func (s *stage) scale(words []string) error {
	if len(words) != 2 {
		return errWords
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return errWords
	}
	return s.cluster.Scale(words[0], n)
}

// pod does something to pods of CNFs.
func (s *stage) pod(words []string) error {
	if len(words) < 2 {
		return errWords
	}
	for _, name := range words[1:] {
		r := s.cluster.devices.of(name)
		if r == nil {
			return fmt.Errorf("there is no pod %s", name)
		}
		if err := s.cluster.devices.turn(r, words[0]); err != nil {
			return err
		}
	}
	return nil
}

// noticed is how long a kubelet needs to notice that a container does not answer: five probes, five seconds apart.
const noticed = 25 * time.Second

// turn does one thing to one pod.
func (d *devices) turn(r *replica, what string) error {
	switch what {
	case "stop": // the process ended: the kubelet sees that at once
		return d.change(r, func() { r.link, r.ready = down, false; r.device.Drop() })
	case "start": // with nothing in it
		return d.change(r, func() { r.restarted(); r.link, r.ready = up, true })
	case "restart": // too quickly for a probe to fail
		return d.change(r, r.restarted)
	case "disconnect":
		d.mu.Lock()
		r.link = cut
		d.mu.Unlock()
		r.device.Drop()
		time.Sleep(noticed)
		return d.change(r, func() { r.ready = false })
	case "reconnect":
		return d.change(r, func() { r.link, r.ready = up, true })
	case "unready":
		return d.change(r, func() { r.ready = false })
	case "ready":
		return d.change(r, func() { r.ready = true })
	case "leave": // it is terminating slowly
		d.api.Terminate("pods", r.namespace, r.pod)
	case "delete":
		d.remove(r)
	case "replace": // another pod of the same name
		d.remove(r)
		return d.start(r.workload, r.pod)
	default:
		return errWords
	}
	return nil
}

// app is an ordinary pod.
func (s *stage) app(words []string) error {
	if len(words) < 2 {
		return errWords
	}
	namespace, name := two(words[0])
	o := object("v1", "Pod", namespace, name, map[string]any{"status": map[string]any{
		"phase": "Running", "podIP": words[1], "podIPs": []any{map[string]any{"ip": words[1]}},
		"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
	}})
	labels := map[string]string{}
	for _, word := range words[2:] {
		k, v, _ := strings.Cut(word, "=")
		labels[k] = v
	}
	o.SetLabels(labels)
	return s.cluster.Apply(o)
}

func (s *stage) dns(words []string) error {
	if len(words) == 0 {
		return errWords
	}
	var addrs []netip.Addr
	for _, word := range words[1:] {
		a, err := netip.ParseAddr(word)
		if err != nil {
			return err
		}
		addrs = append(addrs, a)
	}
	s.cluster.SetHost(words[0], addrs...)
	return nil
}

func (s *stage) secret(words []string) error {
	if len(words) == 0 {
		return errWords
	}
	namespace, name := two(words[0])
	data := map[string]string{}
	for _, word := range words[1:] {
		k, v, _ := strings.Cut(word, "=")
		data[k] = v
	}
	return s.cluster.Apply(secret(namespace, name, data))
}

func (s *stage) apply(words []string) error {
	for _, name := range words {
		manifest, ok := s.files[name]
		if !ok {
			return fmt.Errorf("there is no file %s", name)
		}
		list, err := objects(manifest)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := s.cluster.Apply(list...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// edit merges JSON into an object.
func (s *stage) edit(words []string) error {
	if len(words) < 3 {
		return errWords
	}
	var change map[string]any
	if err := json.Unmarshal([]byte(strings.Join(words[2:], " ")), &change); err != nil {
		return err
	}
	namespace, name := two(words[1])
	if !s.cluster.API.Edit(plural(words[0]), namespace, name, func(o *unstructured.Unstructured) {
		o.Object = mergePatch(o.Object, change)
	}) {
		return errors.New("there is no such object, or it did not take the change")
	}
	return nil
}

// delete deletes objects of a kind, or everything that files declare.
func (s *stage) delete(words []string) error {
	if len(words) < 1 {
		return errWords
	}
	if manifest, ok := s.files[words[0]]; ok {
		list, err := objects(manifest)
		for _, o := range list {
			s.cluster.API.Delete(plural(o.GetKind()), o.GetNamespace(), o.GetName())
		}
		return err
	}
	for _, word := range words[1:] {
		namespace, name := two(word)
		if !s.cluster.API.Delete(plural(words[0]), namespace, name) {
			return fmt.Errorf("there is no %s %s", words[0], word)
		}
	}
	return nil
}

// plural is the resource of a kind, in any case.
func plural(kind string) string {
	for gvr, k := range kinds() {
		if strings.EqualFold(k.Kind, kind) {
			return gvr.Resource
		}
	}
	return kind
}

func (s *stage) controllerStep(words []string) error {
	switch words[0] {
	case "start":
		change, err := flags(words[1:])
		if err != nil {
			return err
		}
		s.cluster.change = change
		s.cluster.Start()
	case "stop":
		s.cluster.Stop()
	case "restart":
		s.cluster.Stop()
		s.cluster.Start()
	default:
		return errWords
	}
	return nil
}

// flags are the settings of a controller for some words.
func flags(words []string) (func(*daemon.Options), error) {
	for _, word := range words {
		switch name, _, _ := strings.Cut(word, "="); name {
		case "cluster-wide", "https-only", "service-rules", "service-purpose", "status-interval":
		default:
			return nil, errWords
		}
	}
	return func(o *daemon.Options) {
		for _, word := range words {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "cluster-wide":
				o.SDWAN.ClusterWide = true
			case "https-only":
				o.SDWAN.PlainHTTP = false
			case "service-rules":
				o.SDWAN.ServiceRules = value
			case "service-purpose":
				o.SDWAN.ServicePurpose = value
			case "status-interval":
				o.SDWAN.StatusInterval, _ = time.ParseDuration(value)
			}
		}
	}, nil
}

// api injects a fault into the server, or ends it.
func (s *stage) api(words []string) error {
	a := s.cluster.API
	switch {
	case len(words) == 1 && (words[0] == "down" || words[0] == "up"):
		a.Down(words[0] == "down")
	case len(words) == 2 && words[0] == "conflict":
		n, err := strconv.Atoi(words[1])
		a.Conflict(n)
		return err
	case len(words) == 2 && (words[0] == "forbid" || words[0] == "allow"):
		a.Forbid(words[1], words[0] == "forbid")
	case len(words) == 2 && (words[0] == "undefine" || words[0] == "define"):
		a.Undefine(words[1], words[0] == "undefine")
	default:
		return errWords
	}
	return nil
}

// fault injects a fault into a device.
func (s *stage) fault(words []string) error {
	if len(words) < 2 || s.cluster.devices.of(words[0]) == nil {
		return errWords
	}
	d := s.cluster.devices.of(words[0]).device
	arg := strings.Join(words[2:], " ")
	switch words[1] {
	case "hang":
		d.Hang()
	case "resume":
		d.Resume()
	case "forget": // a container that restarted without an event
		r := s.cluster.devices.of(words[0])
		r.restarted()
		r.restarts--
	case "drop":
		d.Drop()
	case "expire":
		d.ExpireSessions()
	case "password":
		d.SetPassword(arg)
	case "delay":
		by, err := time.ParseDuration(arg)
		d.Delay(by)
		return err
	case "fail":
		stages := map[string]simulator.Stage{"": 0, "between": simulator.BetweenHalves, "after": simulator.AfterWrite}
		number, stage, _ := strings.Cut(arg, " ")
		n, err := strconv.Atoi(number)
		d.FailAt(n, stages[stage])
		return err
	case "failafter":
		n, err := strconv.Atoi(arg)
		d.FailAfter(n)
		return err
	default:
		return errWords
	}
	return nil
}

// hand changes a device, bypassing the controller: hand POD add PKG/TYPE[/NAME] OPTION=VALUE ..., hand POD remove
// PKG/TYPE/NAME.
func (s *stage) hand(words []string) error {
	if len(words) < 3 || s.cluster.devices.of(words[0]) == nil {
		return errWords
	}
	d := s.cluster.devices.of(words[0]).device
	if strings.Count(words[2], "/") == 0 {
		return errWords
	}
	at := append(strings.SplitN(words[2], "/", 3), "")
	switch words[1] {
	case "remove":
		name := at[2]
		if option, value, found := strings.Cut(name, "="); found { // by an option, if the name is not known
			for _, sec := range sections(d.Export(at[0])) {
				if sec.typ == at[1] && sec.has(option, value) {
					name = sec.called()
				}
			}
		}
		if d.RemoveSection(at[0], at[1], name) == 0 {
			return errors.New("there is no such section")
		}
	case "add":
		values := map[string]any{}
		for _, word := range words[3:] {
			k, v, _ := strings.Cut(word, "=")
			values[k] = v
			if strings.Contains(v, ",") {
				values[k] = strings.Split(v, ",")
			}
		}
		return d.AddSection(at[0], at[1], at[2], values)
	default:
		return errWords
	}
	return nil
}

func (s *stage) wait(words []string) error {
	if len(words) != 1 {
		return errWords
	}
	pause, err := time.ParseDuration(words[0])
	time.Sleep(pause)
	return err
}

// mark resets the counters.
func (s *stage) mark([]string) error {
	s.cluster.API.Requests()
	for _, r := range s.cluster.devices.all() {
		r.device.Reset()
	}
	return nil
}
