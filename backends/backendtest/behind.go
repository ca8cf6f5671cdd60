package backendtest

import "github.com/netloom/netloom/pkg/intent"

// ChangeBackends replaces the backends of a frontend by what change makes of a copy of them.
func ChangeBackends(f *intent.Frontend, change func(list []intent.Backend) []intent.Backend) {
	var list []intent.Backend
	for b := range f.Backends.All() {
		list = append(list, *b)
	}
	f.Backends = intent.NewBackends(change(list)...)
}

// FirstBackends leaves a frontend its first n backends.
func FirstBackends(f *intent.Frontend, n int) {
	ChangeBackends(f, func(list []intent.Backend) []intent.Backend { return list[:n] })
}
