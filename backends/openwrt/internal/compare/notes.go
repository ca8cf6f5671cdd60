package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// staleNotes deletes notes of certificates that were never written or that were changed by others. As long as it is not
// known what a remote should be, its notes are not known either.
func (c *Comparison) staleNotes() {
	known := map[string]bool{}
	if c.Have.Unlisted(openwrt.Remotes) || c.Have.Unlisted(openwrt.Proposals) {
		return
	}
	for k := range c.stays {
		if k.Kind == openwrt.Remotes {
			return
		}
	}
	for k := range c.Want.Keep {
		if k.Kind == openwrt.Remotes {
			return
		}
	}
	for k, w := range c.Want.Objects {
		if have := c.Have.Objects[k]; have != nil && k.Kind == openwrt.Remotes {
			known[c.Names.Seal(k.Name, section.Sealed(w.Object), section.Shown(have.Object))] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Have.Notes)) {
		if n, remote, ok := c.Names.PartsIn(name); ok {
			c.leftover(n, remote)
		}
		if !known[name] && strings.HasPrefix(name, c.Names.Mark+"_seal_") {
			c.Ops = append(c.Ops, backends.Op{
				Verb: backends.Delete, Kind: openwrt.Proposals.String(), Name: name, Before: backends.Fields{"note": "of certificates"},
				Again:  true, // only our own bookkeeping
				Native: &Step{Stage: Sweep, Key: section.Key{Kind: openwrt.Proposals, Name: name}, Intent: name},
			})
		}
	}
}

// leftover deletes the certificates of a remote that was deleted by others.
func (c *Comparison) leftover(n section.Parts, remote string) {
	k := section.Key{Kind: openwrt.Remotes, Name: remote}
	if c.Have.Objects[k] != nil || c.Want.Objects[k] != nil || c.Want.Keep[k] {
		return
	}
	blank := openwrt.Remote{Name: remote, Enabled: "0", Authentication: "pubkey"}
	blank.PublicCert, blank.SharedCA = openwrt.WithdrawnParts(n[0]), openwrt.WithdrawnParts(n[2])
	blank.PrivateKey = openwrt.Secret(openwrt.WithdrawnParts(n[1]))
	c.Ops = append(c.Ops, backends.Op{
		Verb: backends.Delete, Kind: k.Kind.String(), Name: k.Name, Before: backends.Fields{"files": "left over"},
		Native: &Step{Stage: Sweep, Key: k, Surplus: openwrt.ObjectOf(blank), Intent: k.String()},
	})
}
