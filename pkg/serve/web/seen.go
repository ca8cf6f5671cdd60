package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/serve/web/chart"
)

const (
	maxSeen    = 400 // links that are listed
	shownCause = 2   // rules that such a link lists
)

// Seen is what ACL logs say about the nodes of a Map.
type Seen struct {
	Number uint64     `json:"number"` // of the state of the map
	Logs   []LogFile  `json:"logs"`   // none if no log is followed
	Step   int        `json:"stepSeconds,omitempty"`
	Until  time.Time  `json:"until,omitzero"` // when the last part ends
	Parts  []SeenPart `json:"parts"`          // the oldest first: all that is kept
	// Links are of the parts between since and until, the denied ones first.
	Links     []SeenLink `json:"links"`
	MoreLinks int        `json:"moreLinks,omitempty"`
	Elsewhere uint64     `json:"elsewhere,omitempty"` // times of connections with an end that the map does not show
}

// SeenPart counts what was seen between the nodes of the map in a part of the time.
type SeenPart struct {
	At      time.Time `json:"at"` // when it begins
	Allowed uint64    `json:"allowed,omitempty"`
	Denied  uint64    `json:"denied,omitempty"`
}

// SeenLink is what was seen from one node to another.
type SeenLink struct {
	From      int           `json:"from"` // indexes of nodes
	To        int           `json:"to"`
	Verdict   flows.Verdict `json:"verdict"`
	Count     uint64        `json:"count"`
	Ports     []string      `json:"ports"` // the first of them
	MorePorts bool          `json:"morePorts,omitempty"`
	Last      time.Time     `json:"last"`
	By        []string      `json:"by,omitempty"` // what decided, such as "NetworkPolicy/shop/db default deny": the first of them
	Example   Example       `json:"example"`      // the most frequent of the connections
	most      uint64
}

// seen answers with what was seen between the nodes of a map.
func (h *Handler) seen(w http.ResponseWriter, r *http.Request) {
	h.fromLogs(w, r, func(b *board, log FlowLog) (any, error) { return b.seen(r.URL.Query(), log) })
}

func (b *board) seen(q url.Values, log FlowLog) (*Seen, error) {
	m, err := b.mapOf(q)
	if err != nil {
		return nil, err
	}
	since, until, err := readSpan(q)
	if err != nil {
		return nil, err
	}
	past := &log.History
	out := &Seen{Number: m.Number, Logs: append([]LogFile{}, log.Logs...), Step: int(past.Step.Seconds()), Until: past.Until, Parts: []SeenPart{}, Links: []SeenLink{}}
	within := make([]bool, past.Parts)
	for i := range past.Parts {
		at := past.Begin(i)
		out.Parts = append(out.Parts, SeenPart{At: at})
		within[i] = !at.Before(since) && (until.IsZero() || at.Before(until))
	}
	port := ""
	if m.Port != "" {
		p, _ := readPort(m.Port) // the map has been made with it
		port = p.String()
	}
	links := map[[2]int][]*SeenLink{} // the one that is allowed, and the one that is denied
	for i := range past.Flows {
		f := &past.Flows[i]
		if port != "" && f.Port != port && (port != "icmp" || !strings.HasPrefix(f.Port, port)) {
			continue
		}
		from, known := b.nodeOf(m.chart, f.From)
		to, alsoKnown := b.nodeOf(m.chart, f.To)
		n := out.count(f, within, known && alsoKnown)
		if n == 0 {
			continue
		}
		if !known || !alsoKnown {
			out.Elsewhere += n
			continue
		}
		key := [2]int{from, to}
		at := slices.IndexFunc(links[key], func(l *SeenLink) bool { return l.Verdict == f.Verdict })
		if at < 0 {
			at = len(links[key])
			links[key] = append(links[key], &SeenLink{From: from, To: to, Verdict: f.Verdict})
		}
		links[key][at].add(f, n)
	}
	out.list(links)
	return out, nil
}

// readSpan reads the time that is asked for; a zero time is no limit.
func readSpan(q url.Values) (since, until time.Time, err error) {
	for name, at := range map[string]*time.Time{"since": &since, "until": &until} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return since, until, fmt.Errorf("%s: %q: expected a time such as 2026-03-02T12:00:00Z", name, text)
		}
	}
	return since, until, nil
}

// String is the port as flows have it.
func (a asked) String() string {
	if a.number == 0 {
		return a.protocol.String()
	}
	return fmt.Sprintf("%s/%d", a.protocol, a.number)
}

// nodeOf finds the node of an end of a flow.
func (b *board) nodeOf(c *chart.Chart, end string) (int, bool) {
	if key, pod := b.podNames()[end]; pod {
		return c.PodAt(key)
	}
	if a, err := netip.ParseAddr(end); err == nil {
		return c.OutsideAt(a)
	}
	return 0, false // a node, or a pod that is gone
}

// count adds a flow to the parts, if the map shows its ends, and counts it within some of them.
func (s *Seen) count(f *flows.Past, within []bool, shown bool) uint64 {
	var n uint64
	for i, times := range f.Counts {
		if within[i] {
			n += uint64(times)
		}
		switch {
		case !shown:
		case f.Verdict == flows.Denied:
			s.Parts[i].Denied += uint64(times)
		default:
			s.Parts[i].Allowed += uint64(times)
		}
	}
	return n
}

func (l *SeenLink) add(f *flows.Past, n uint64) {
	l.Count += n
	if n > l.most {
		l.most, l.Example = n, Example{From: f.From, To: f.To, Port: f.Port}
	}
	if f.Last.After(l.Last) {
		l.Last = f.Last
	}
	if !slices.Contains(l.Ports, f.Port) {
		if l.MorePorts = l.MorePorts || len(l.Ports) == chart.MaxPorts; !l.MorePorts {
			l.Ports = append(l.Ports, f.Port)
		}
	}
	cause := f.Policy + " " + f.Rule
	if f.Policy == "" {
		cause = "ACL " + cmp.Or(f.ACL, "without a name")
	}
	if len(l.By) < shownCause && !slices.Contains(l.By, cause) {
		l.By = append(l.By, cause)
	}
}

// list lists the links: the denied ones first, then the most frequent.
func (s *Seen) list(links map[[2]int][]*SeenLink) {
	for _, both := range links {
		for _, l := range both {
			s.Links = append(s.Links, *l)
		}
	}
	slices.SortFunc(s.Links, func(a, b SeenLink) int {
		return cmp.Or(cmp.Compare(rankOf(a.Verdict), rankOf(b.Verdict)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	s.Links, s.MoreLinks = cut(s.Links, maxSeen)
}
