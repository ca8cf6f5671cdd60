package openwrt

import (
	"context"
	"net/netip"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// PlanRemoval implements backends.Remover. It takes the device for a CNF that is ready and that nothing is for, whatever a cluster says
// about it.
func (b *Backend) PlanRemoval(ctx context.Context) (*backends.Plan, error) {
	b.keep = nil
	addr := b.opts.Addr
	if !addr.IsValid() {
		addr = netip.IPv4Unspecified()
	}
	builder := intent.NewSnapshot().Next()
	builder.PutCNF(&intent.CNF{ID: b.opts.CNF, Addr: addr, Ready: true})
	return b.Plan(ctx, builder.Commit(), 0)
}
