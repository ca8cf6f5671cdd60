package nbtrace

import (
	"encoding/binary"
	"slices"
)

// Span is a verdict on new connections of one protocol to the ports of a range.
type Span struct {
	Protocol    uint8
	First, Last uint16
	Step        Step
}

// Judge answers, for the two directions of connections between ends, which destination ports ACLs allow. It computes each answer once for
// all ends that the ACLs of the port in question treat alike. It is not safe for concurrent use.
type Judge struct {
	tracer *Tracer
	scopes [2]map[string]*scope
	known  [2]map[*End]*scope
}

// scope is the rules that may apply at a port in one direction.
type scope struct {
	looks map[int]bool
	cuts  []Cut
	spans map[string][]Span
}

// NewJudge makes a judge of the rows of t.
func NewJudge(t *Tracer) *Judge {
	return &Judge{tracer: t, scopes: [2]map[string]*scope{{}, {}}, known: [2]map[*End]*scope{{}, {}}}
}

// Egress lists the verdicts of the port from, which must be one, for TCP, UDP and SCTP, in order and without gaps. Neither end
// may change afterwards.
func (j *Judge) Egress(from, to *End) []Span {
	return j.scope(0, from).judge(from, to, func(protocol uint8, port uint16) Step {
		p := Packet{Inport: from.Port, Outport: to.Port, Src: from.Addr, Dst: to.Addr, Protocol: protocol, DstPort: port}
		step := j.tracer.afterLB(&p, j.tracer.stage(stageFrom, p.Inport, newView(&p, p.Inport, "")))
		if step.Verdict.Allows() {
			step = stricter(step, j.tracer.depart(&p))
		}
		return step
	})
}

// Ingress is Egress for the port to.
func (j *Judge) Ingress(from, to *End) []Span {
	return j.scope(1, to).judge(to, from, func(protocol uint8, port uint16) Step {
		p := Packet{Inport: from.Port, Outport: to.Port, Src: from.Addr, Dst: to.Addr, Protocol: protocol, DstPort: port}
		step := j.tracer.arrive(&p, p.Outport)
		if step.Verdict.Allows() {
			step = stricter(step, j.tracer.enter(&p))
		}
		return step
	})
}

// scope finds the rules that may apply at the port of an end.
func (j *Judge) scope(direction int, own *End) *scope {
	if s := j.known[direction][own]; s != nil {
		return s
	}
	s := j.findScope(direction, own)
	j.known[direction][own] = s
	return s
}

func (j *Judge) findScope(direction int, own *End) *scope {
	t := j.tracer
	key := own.sw + "\x00" + string(spell(nil, t.ports[own.Port]))
	if s := j.scopes[direction][key]; s != nil {
		return s
	}
	s := &scope{looks: map[int]bool{}, spans: map[string][]Span{}}
	take := func(stage int, ports ...string) {
		lists := [][]*rule{t.bySwitch[stage][own.sw]}
		for _, p := range ports {
			lists = append(lists, t.byPort[stage][p])
		}
		for _, r := range slices.Concat(lists...) {
			for _, n := range r.looks.at {
				s.looks[n] = true
			}
			s.cuts = append(s.cuts, r.looks.cuts...)
		}
	}
	at, across := []string{own.Port}, t.uplinks[own.sw]
	if direction == 1 {
		at, across = across, at
	}
	take(stageFrom, at...)
	take(stageFromAfterLB, at...)
	take(stageTo, across...)
	for _, protocol := range []uint8{protoTCP, protoUDP, protoSCTP} {
		s.cuts = append(s.cuts, Cut{protocol, 0})
	}
	s.cuts = sortedCuts(s.cuts)
	j.scopes[direction][key] = s
	return s
}

// judge returns the spans between two ends, evaluating them if no ends like these were judged before.
func (s *scope) judge(own, peer *End, evaluate func(protocol uint8, port uint16) Step) []Span {
	key := make([]byte, 2, 64)
	if own.sw == peer.sw && peer.Port != "" {
		key[0] = 1
	}
	if own.Addr.Is4() {
		key[1] = 1
	}
	key = s.view(key, own)
	key = s.view(key, peer)
	if spans, known := s.spans[string(key)]; known {
		return spans
	}
	spans := []Span{}
	for i, c := range s.cuts {
		last := uint16(0xffff)
		if i+1 < len(s.cuts) && s.cuts[i+1].Protocol == c.Protocol {
			last = s.cuts[i+1].Port - 1
		}
		step := evaluate(c.Protocol, c.Port)
		if n := len(spans) - 1; n >= 0 && spans[n].Protocol == c.Protocol && spans[n].Step == step {
			spans[n].Last = last
			continue
		}
		spans = append(spans, Span{c.Protocol, c.Port, last, step})
	}
	s.spans[string(key)] = spans
	return spans
}

// view appends what the rules of the scope can tell about an end.
func (s *scope) view(b []byte, e *End) []byte {
	n := 0
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, number := range e.seen {
		if s.looks[number] {
			b = binary.AppendUvarint(b, uint64(number)) //nolint:gosec // an index
			n++
		}
	}
	binary.BigEndian.PutUint32(b[at:], uint32(n))
	return b
}
