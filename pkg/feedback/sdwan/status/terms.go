package status

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
)

// inTerms converts the standing of an object to the status of its kind. had is a pointer to its present status.
func (w *World) inTerms(o Object, had any, s *standing) any {
	switch had := had.(type) {
	case *v1alpha1.SdewanStatus:
		return w.sdewan(o, had, s)
	case *v1alpha1.CNFServiceStatus:
		return w.service(o, had, s)
	case *v1alpha1.CNFLocalServiceStatus:
		return w.localService(o, had, s)
	case *v1alpha1.CNFHubSiteStatus:
		return w.hubSite(o, had, s)
	default:
		return had
	}
}

// sdewan returns the status of the kinds that a device stores. Applied is reported while it is true, as in the design
// document and ICN SD-EWAN, with the version that was applied, and the time at which the last pod got the object.
func (w *World) sdewan(o Object, had *v1alpha1.SdewanStatus, s *standing) *v1alpha1.SdewanStatus {
	out := &v1alpha1.SdewanStatus{
		State: s.state, InSync: s.state == v1alpha1.InSync, Message: s.message, Pods: s.pods,
		Conditions: w.conditions(had.Conditions, o.GetGeneration(), s),
	}
	if !out.InSync {
		return out
	}
	out.AppliedGeneration, out.AppliedVersion = o.GetGeneration(), o.GetResourceVersion()
	now := w.Now
	out.AppliedTime = &now
	if had.InSync && had.AppliedGeneration == out.AppliedGeneration && had.AppliedVersion != "" && had.AppliedTime != nil {
		out.AppliedVersion, out.AppliedTime = had.AppliedVersion, had.AppliedTime
		for i := range s.pods {
			if got := s.pods[i].AppliedTime; out.AppliedTime.Before(got) {
				out.AppliedTime = got
			}
		}
	}
	return out
}

func (w *World) service(o Object, had *v1alpha1.CNFServiceStatus, s *standing) *v1alpha1.CNFServiceStatus {
	out := &v1alpha1.CNFServiceStatus{
		State: s.state, Message: s.message, Conditions: w.conditions(had.Conditions, o.GetGeneration(), s),
	}
	if t := translations(s.intents); len(t) > 0 {
		out.SIP, out.Port, out.DPort = address(t[0]), port(t[0].Match.DstPort), port(t[0].Port)
	}
	return out
}

func (w *World) localService(o Object, had *v1alpha1.CNFLocalServiceStatus, s *standing) *v1alpha1.CNFLocalServiceStatus {
	out := &v1alpha1.CNFLocalServiceStatus{
		State: s.state, Message: s.message, Conditions: w.conditions(had.Conditions, o.GetGeneration(), s),
	}
	for i, t := range translations(s.intents) {
		if i == 0 {
			out.LocalIP, out.LocalPort, out.RemotePort = address(t), port(t.Port), port(t.Match.DstPort)
		}
		if t.Match.Dst.IsValid() {
			out.RemoteIPs = append(out.RemoteIPs, t.Match.Dst.Addr().String())
		}
	}
	slices.Sort(out.RemoteIPs)
	out.RemoteIPs = slices.Compact(out.RemoteIPs)
	return out
}

func (w *World) hubSite(o Object, had *v1alpha1.CNFHubSiteStatus, s *standing) *v1alpha1.CNFHubSiteStatus {
	out := &v1alpha1.CNFHubSiteStatus{
		State: s.state, Message: s.message, Conditions: w.conditions(had.Conditions, o.GetGeneration(), s),
	}
	site, ok := o.(*v1alpha1.CNFHubSite)
	if !ok {
		return out
	}
	out.Type, out.Subnet = site.Spec.Type, string(site.Spec.Subnet)
	out.HubIP, out.DevicePIP = string(site.Spec.HubIP), string(site.Spec.DevicePIP)
	for _, e := range s.intents {
		r, ok := e.Spec.(*intent.Route)
		if !ok || !r.Dst.IsSingleIP() {
			continue
		}
		if a := r.Dst.Addr().String(); strings.TrimSuffix(out.Subnet, "/32") != a {
			out.SiteIPs = append(out.SiteIPs, a)
		}
	}
	slices.Sort(out.SiteIPs)
	out.SiteIPs = slices.Compact(out.SiteIPs)
	return out
}

// translations lists the NATs among intents.
func translations(of []*intent.DeviceIntent) []*intent.Translation {
	var out []*intent.Translation
	for _, e := range of {
		switch n := e.Spec.(type) {
		case *intent.LinkNAT:
			out = append(out, &n.Translation)
		case *intent.ZoneNAT:
			out = append(out, &n.Translation)
		}
	}
	return out
}

func address(t *intent.Translation) string {
	if !t.Addr.IsValid() {
		return ""
	}
	return t.Addr.String()
}

func port(n uint16) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// podsOf lists the pods in an object's status.
func podsOf(o Object) []v1alpha1.PodStatus {
	_, had, _ := v1alpha1.ResourceOf(o)
	if s, ok := had.(*v1alpha1.SdewanStatus); ok {
		return s.Pods
	}
	return nil
}

// observed returns the generation in an object's conditions; 0 if it has none.
func observed(o Object) int64 {
	_, had, _ := v1alpha1.ResourceOf(o)
	c := state.Condition(conditionsOf(had), v1alpha1.ConditionReady)
	if c == nil {
		return 0
	}
	return c.ObservedGeneration
}

// conditionsOf lists the conditions of a status.
func conditionsOf(status any) []metav1.Condition {
	switch s := status.(type) {
	case *v1alpha1.SdewanStatus:
		return s.Conditions
	case *v1alpha1.CNFServiceStatus:
		return s.Conditions
	case *v1alpha1.CNFLocalServiceStatus:
		return s.Conditions
	case *v1alpha1.CNFHubSiteStatus:
		return s.Conditions
	default:
		return nil
	}
}

// plainSecrets names the fields of an object that hold a secret in plain text.
func plainSecrets(o Object) []string {
	var p *v1alpha1.IpsecPeer
	switch o := o.(type) {
	case *v1alpha1.IpsecSite:
		p = &o.Spec.IpsecPeer
	case *v1alpha1.IpsecHost:
		p = &o.Spec.IpsecPeer
	default:
		return nil
	}
	var out []string
	if p.PreSharedKey != "" {
		out = append(out, "pre_shared_key")
	}
	if p.LocalPrivateCert != "" {
		out = append(out, "local_private_cert")
	}
	return out
}
