package nbtrace

// RepliesPass reports whether the replies to a packet that arrives pass. A switch that tracks connections has them pass whatever its
// ACLs say; any other evaluates them like the first packet of a connection. It is always true of a packet that a load balancer
// changes: the switch or router of the load balancer tracks connections.
func (t *Tracer) RepliesPass(p Packet) bool {
	if r := t.Trace(p); !r.Allowed || r.Balanced != nil {
		return r.Allowed
	}
	reply := p
	reply.Inport, reply.Outport, reply.Src, reply.Dst = p.Outport, p.Inport, p.Dst, p.Src
	reply.SrcPort, reply.DstPort = p.DstPort, p.SrcPort
	switch p.ICMPType {
	case 8:
		reply.ICMPType = 0
	case 128:
		reply.ICMPType = 129
	}
	back := t.Trace(reply)
	passes := func(port string, step Step) bool { return t.stateful[t.switchOf[port]] || step.Verdict.Allows() }
	return passes(reply.Inport, back.Egress) && passes(reply.Outport, back.Ingress)
}
