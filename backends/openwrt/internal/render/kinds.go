package render

import (
	"errors"
	"sync"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// kind describes the objects that device intents of one kind become. A new kind is a new row of kinds.
type kind struct {
	object openwrt.Kind
	render renderFunc
	// decides is what an object does with a packet that it matches, for kinds of which the first that matches decides; nil for others.
	decides func(openwrt.Object) Decision
	// volatile objects depend on more than their intent and the objects that it needs, so they are rendered each time.
	volatile bool
}

// kinds has a row for each kind of device intents.
var kinds = sync.OnceValue(func() map[intent.DeviceKind]*kind {
	return map[intent.DeviceKind]*kind{
		intent.DeviceZone:         {object: openwrt.Zones, render: renderWith((*renderer).zone)},
		intent.DeviceForwarding:   {object: openwrt.Forwardings, render: renderWith((*renderer).forwarding)},
		intent.DeviceFirewallRule: {object: openwrt.FirewallRules, render: renderWith((*renderer).firewallRule), decides: firewallDecision},
		intent.DeviceZoneNAT:      {object: openwrt.Redirects, render: renderWith((*renderer).zoneNAT), decides: translationDecision},
		intent.DeviceLinkRule:     {object: openwrt.NetworkRules, render: renderWith((*renderer).linkRule)},
		intent.DeviceLinkNAT:      {object: openwrt.NATs, render: renderWith((*renderer).linkNAT)},
		intent.DeviceWANPolicy:    {object: openwrt.Policies, render: renderWith((*renderer).wanPolicy)},
		intent.DeviceWANRule:      {object: openwrt.PolicyRules, render: renderWith((*renderer).wanRule), decides: wanDecision},
		intent.DeviceProposal:     {object: openwrt.Proposals, render: renderWith((*renderer).proposal)},
		intent.DeviceTunnel:       {object: openwrt.Remotes, render: renderWith((*renderer).tunnel), volatile: true},
		intent.DeviceRoute:        {object: openwrt.Routes, render: renderWith((*renderer).route)},
		intent.DeviceRouteRule:    {object: openwrt.RouteRules, render: renderWith((*renderer).routeRule), volatile: true},
		intent.DeviceApplication:  {object: openwrt.Applications, render: renderWith((*renderer).application), volatile: true},
	}
})

// rowOf returns the row of an intent; nil for one that is unknown.
func rowOf(s intent.DeviceSpec) *kind {
	if s == nil {
		return nil
	}
	return kinds()[s.DeviceKind()]
}

// renderFunc renders the object of an intent; nil for an intent that needs no object.
type renderFunc func(*renderer, *Wanted, intent.DeviceSpec) (openwrt.Resource, error)

// renderWith wraps f to take any intent.
func renderWith[S intent.DeviceSpec](f func(*renderer, *Wanted, S) (openwrt.Resource, error)) renderFunc {
	return func(r *renderer, w *Wanted, spec intent.DeviceSpec) (openwrt.Resource, error) {
		s, ok := spec.(S)
		if !ok {
			return nil, errors.New("its spec does not match its kind")
		}
		return f(r, w, s)
	}
}
