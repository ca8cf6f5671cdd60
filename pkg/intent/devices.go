package intent

import (
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// deviceTable holds the CNFs of a snapshot and their device intents.
type deviceTable struct {
	intents *iradix.Tree[*DeviceIntent]
	cnfs    *iradix.Tree[*CNF]
}

func newDevices() deviceTable { return deviceTable{iradix.New[*DeviceIntent](), iradix.New[*CNF]()} }

// devicesTxn makes the successor of a deviceTable.
type devicesTxn struct {
	intents *iradix.Txn[*DeviceIntent]
	cnfs    *iradix.Txn[*CNF]
}

func (e deviceTable) txn() *devicesTxn { return &devicesTxn{e.intents.Txn(), e.cnfs.Txn()} }

func (t *devicesTxn) commit() deviceTable { return deviceTable{t.intents.Commit(), t.cnfs.Commit()} }

// CNF finds a CNF, nil if there is none with that ID.
func (s *Snapshot) CNF(id CNFID) *CNF {
	v, _ := s.devices.cnfs.Get([]byte(id))
	return v
}

// CNFs yields every CNF, ordered by ID.
func (s *Snapshot) CNFs() iter.Seq[*CNF] { return values(s.devices.cnfs) }

// DeviceIntent finds a device intent, nil if there is none with that ID.
func (s *Snapshot) DeviceIntent(id DeviceIntentID) *DeviceIntent {
	v, _ := s.devices.intents.Get([]byte(id))
	return v
}

// DeviceIntents yields every device intent, ordered by ID.
func (s *Snapshot) DeviceIntents() iter.Seq[*DeviceIntent] { return values(s.devices.intents) }

// DeviceIntentsOf yields the device intents of a scope, ordered by ID, including those that are Gone.
func (s *Snapshot) DeviceIntentsOf(of Scope) iter.Seq[*DeviceIntent] {
	return func(yield func(*DeviceIntent) bool) {
		s.devices.intents.Root().WalkPrefix([]byte(scopePrefix(of)), func(_ []byte, v *DeviceIntent) bool { return !yield(v) })
	}
}

// PutCNF adds a CNF or rewrites the one of the same ID.
func (b *Builder) PutCNF(g *CNF) {
	b.devices.cnfs.Insert([]byte(g.ID), g)
	b.change.CNFs = append(b.change.CNFs, g.ID)
}

// DropCNF removes a CNF, if it is there.
func (b *Builder) DropCNF(id CNFID) {
	if _, ok := b.devices.cnfs.Delete([]byte(id)); ok {
		b.change.CNFs = append(b.change.CNFs, id)
	}
}

// PutDeviceIntent adds a device intent or rewrites the one of the same ID.
func (b *Builder) PutDeviceIntent(e *DeviceIntent) {
	b.devices.intents.Insert([]byte(e.ID), e)
	b.change.DeviceIntents = append(b.change.DeviceIntents, e.ID)
}

// DropDeviceIntent removes a device intent, if it is there.
func (b *Builder) DropDeviceIntent(id DeviceIntentID) {
	if _, ok := b.devices.intents.Delete([]byte(id)); ok {
		b.change.DeviceIntents = append(b.change.DeviceIntents, id)
	}
}
