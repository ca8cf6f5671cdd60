package daemon

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// snapshotDump is a snapshot as JSON shows it.
type snapshotDump struct {
	Revision intent.Revision `json:"revision"`
	Sets     []setDump       `json:"sets"`
	Policies []policyDump    `json:"policies"`
}

type setDump struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Members  []string `json:"members,omitempty"`
	Prefixes []string `json:"prefixes,omitempty"`
	Within   []string `json:"within,omitempty"`
}

type policyDump struct {
	ID        string     `json:"id"`
	Origin    string     `json:"origin"`
	Direction string     `json:"direction"`
	Subject   string     `json:"subject"`
	Isolates  bool       `json:"isolates"`
	Log       *logDump   `json:"log,omitempty"`
	Rules     []ruleDump `json:"rules,omitempty"`
}

type logDump struct {
	Allow string `json:"allow,omitempty"`
	Deny  string `json:"deny,omitempty"`
	Rate  uint32 `json:"rate,omitempty"`
}

type ruleDump struct {
	Path    string   `json:"path"`
	Action  string   `json:"action"`
	Subject string   `json:"subject,omitempty"`
	Peer    string   `json:"peer"`
	Ports   []string `json:"ports"`
}

func dumpSnapshot(s *intent.Snapshot) snapshotDump {
	d := snapshotDump{Revision: s.Revision(), Sets: []setDump{}, Policies: []policyDump{}}
	for set := range s.Sets() {
		d.Sets = append(d.Sets, dumpSet(set))
	}
	for p := range s.Policies() {
		d.Policies = append(d.Policies, dumpPolicy(p))
	}
	return d
}

func dumpSet(set *intent.Set) setDump {
	d := setDump{ID: string(set.ID), Title: set.Title}
	if set.Members != nil {
		for e := range set.Members.All() {
			d.Members = append(d.Members, e.Key.String())
		}
		slices.Sort(d.Members)
	}
	for _, p := range set.Prefixes {
		d.Prefixes = append(d.Prefixes, p.String())
	}
	for _, p := range set.Within {
		d.Within = append(d.Within, p.String())
	}
	return d
}

func dumpPolicy(p *intent.Policy) policyDump {
	d := policyDump{
		ID: string(p.ID), Origin: p.Origin.String(), Direction: p.Direction.String(), Subject: string(p.Subject),
		Isolates: p.Isolates,
	}
	if p.Log != (intent.Logging{}) {
		d.Log = &logDump{Allow: p.Log.Allow.String(), Deny: p.Log.Deny.String(), Rate: p.Log.Rate}
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		d.Rules = append(d.Rules, ruleDump{
			Path: r.Path, Action: r.Action.String(), Subject: string(r.Subject), Peer: peerText(r.Peer), Ports: r.Ports.Strings(),
		})
	}
	return d
}

func peerText(p intent.Peer) string {
	switch p.Kind {
	case intent.PeerAnyone:
		return "anyone"
	case intent.PeerSet:
		return string(p.Set)
	case intent.PeerNobody:
		return "nobody"
	default:
		return "unknown"
	}
}
