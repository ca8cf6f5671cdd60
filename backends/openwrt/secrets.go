package openwrt

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/pkg/intent"
)

var errNoSecrets = errors.New("reading Secrets is not possible here")

// readSecrets resolves the Secrets that the tunnels of a scope refer to. One that cannot be resolved is in the result
// with its error.
func readSecrets(
	ctx context.Context, want *intent.Snapshot, of intent.Scope, resolve func(context.Context, intent.SecretRef) ([]byte, error),
) (map[intent.SecretRef]render.Secret, error) {
	out := map[intent.SecretRef]render.Secret{}
	for e := range want.DeviceIntentsOf(of) {
		t, ok := e.Spec.(*intent.Tunnel)
		if !ok || e.Gone {
			continue
		}
		for _, v := range []intent.SecretValue{t.Key, t.Certificate, t.PrivateKey, t.CA} {
			if _, known := out[v.From]; known || v.From == (intent.SecretRef{}) {
				continue
			}
			if resolve == nil {
				out[v.From] = render.Secret{Err: errNoSecrets}
				continue
			}
			value, err := resolve(ctx, v.From)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out[v.From] = render.Secret{Value: value, Err: err}
		}
	}
	return out, nil
}

// rotated reports whether a Secret has changed since it was last read: writing that is not a repair.
func (b *Backend) rotated(now map[intent.SecretRef]render.Secret) bool {
	before := b.seen
	b.seen = map[intent.SecretRef][sha256.Size]byte{}
	differs := false
	for ref, s := range now {
		b.seen[ref] = sha256.Sum256(s.Value)
		differs = differs || before != nil && before[ref] != b.seen[ref]
	}
	return differs
}
