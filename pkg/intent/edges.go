package intent

import (
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// edgeTable holds the gateways of a snapshot and what they must hold.
type edgeTable struct {
	intents  *iradix.Tree[*EdgeIntent]
	gateways *iradix.Tree[*Gateway]
}

func newEdges() edgeTable { return edgeTable{iradix.New[*EdgeIntent](), iradix.New[*Gateway]()} }

// edgesTxn makes the successor of an edgeTable.
type edgesTxn struct {
	intents  *iradix.Txn[*EdgeIntent]
	gateways *iradix.Txn[*Gateway]
}

func (e edgeTable) txn() *edgesTxn { return &edgesTxn{e.intents.Txn(), e.gateways.Txn()} }

func (t *edgesTxn) commit() edgeTable { return edgeTable{t.intents.Commit(), t.gateways.Commit()} }

// Gateway finds a gateway, nil when there is none of that ID.
func (s *Snapshot) Gateway(id GatewayID) *Gateway {
	v, _ := s.edges.gateways.Get([]byte(id))
	return v
}

// Gateways yields every gateway, ordered by ID.
func (s *Snapshot) Gateways() iter.Seq[*Gateway] { return values(s.edges.gateways) }

// EdgeIntent finds an edge intent, nil when there is none of that ID.
func (s *Snapshot) EdgeIntent(id EdgeID) *EdgeIntent {
	v, _ := s.edges.intents.Get([]byte(id))
	return v
}

// EdgeIntents yields every edge intent, ordered by ID.
func (s *Snapshot) EdgeIntents() iter.Seq[*EdgeIntent] { return values(s.edges.intents) }

// EdgeIntentsOf yields the edge intents of a scope, ordered by ID, those that are Gone among them.
func (s *Snapshot) EdgeIntentsOf(of Scope) iter.Seq[*EdgeIntent] {
	return func(yield func(*EdgeIntent) bool) {
		s.edges.intents.Root().WalkPrefix([]byte(edgePrefix(of)), func(_ []byte, v *EdgeIntent) bool { return !yield(v) })
	}
}

// PutGateway adds a gateway or rewrites the one of the same ID.
func (b *Builder) PutGateway(g *Gateway) {
	b.edges.gateways.Insert([]byte(g.ID), g)
	b.change.Gateways = append(b.change.Gateways, g.ID)
}

// DropGateway removes a gateway, if it is there.
func (b *Builder) DropGateway(id GatewayID) {
	if _, ok := b.edges.gateways.Delete([]byte(id)); ok {
		b.change.Gateways = append(b.change.Gateways, id)
	}
}

// PutEdgeIntent adds an edge intent or rewrites the one of the same ID.
func (b *Builder) PutEdgeIntent(e *EdgeIntent) {
	b.edges.intents.Insert([]byte(e.ID), e)
	b.change.Edges = append(b.change.Edges, e.ID)
}

// DropEdgeIntent removes an edge intent, if it is there.
func (b *Builder) DropEdgeIntent(id EdgeID) {
	if _, ok := b.edges.intents.Delete([]byte(id)); ok {
		b.change.Edges = append(b.change.Edges, id)
	}
}
