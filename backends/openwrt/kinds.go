package openwrt

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// kind describes the objects that device intents of one kind become. A new kind is a new row of kinds.
type kind struct {
	object openwrt.Kind
	render renderFunc
	// digits is the length of the hash in names that must be short and have no readable part: mwan3 ignores policies and rules
	// with names of more than 15 characters, and a zone's name has at most 11. 0 is for names of any length.
	digits int
	// places lists what only one object can have in the kernel, which takes the same route or rule once, and loses it when
	// either object is deleted. It is nil for kinds without such places.
	places func(openwrt.Object) []string
	// decides is what an object does with a packet that it matches, for kinds of which the first that matches decides; nil for others.
	decides func(openwrt.Object) decision
	// volatile objects depend on more than their intent and the objects that it needs, so they are rendered each time.
	volatile bool
}

// kinds has a row for each kind of device intents.
var kinds = sync.OnceValue(func() map[intent.DeviceKind]*kind {
	return map[intent.DeviceKind]*kind{
		intent.DeviceZone:         {object: openwrt.Zones, render: renderWith((*renderer).zone), digits: zoneDigits},
		intent.DeviceForwarding:   {object: openwrt.Forwardings, render: renderWith((*renderer).forwarding)},
		intent.DeviceFirewallRule: {object: openwrt.FirewallRules, render: renderWith((*renderer).firewallRule), decides: firewallDecision},
		intent.DeviceZoneNAT:      {object: openwrt.Redirects, render: renderWith((*renderer).zoneNAT), decides: translationDecision},
		intent.DeviceLinkRule:     {object: openwrt.NetworkRules, render: renderWith((*renderer).linkRule)},
		intent.DeviceLinkNAT:      {object: openwrt.NATs, render: renderWith((*renderer).linkNAT)},
		intent.DeviceWANPolicy:    {object: openwrt.Policies, render: renderWith((*renderer).wanPolicy), digits: idDigits},
		intent.DeviceWANRule:      {object: openwrt.PolicyRules, render: renderWith((*renderer).wanRule), digits: idDigits, decides: wanDecision},
		intent.DeviceProposal:     {object: openwrt.Proposals, render: renderWith((*renderer).proposal)},
		intent.DeviceTunnel:       {object: openwrt.Remotes, render: renderWith((*renderer).tunnel), volatile: true},
		intent.DeviceRoute:        {object: openwrt.Routes, render: renderWith((*renderer).route), places: routePlaces},
		intent.DeviceRouteRule:    {object: openwrt.RouteRules, render: renderWith((*renderer).routeRule), places: ruleOfRoutesPlaces, volatile: true},
		intent.DeviceApplication: {
			object: openwrt.Applications, render: renderWith((*renderer).application), places: applicationPlaces, volatile: true,
		},
	}
})

// kindsByObject is kinds by the names that the device has for them.
var kindsByObject = sync.OnceValue(func() map[openwrt.Kind]kind {
	out := map[openwrt.Kind]kind{}
	for _, k := range kinds() {
		out[k.object] = *k
	}
	return out
})

// rowOf returns the row of an intent; nil for one that is unknown.
func rowOf(s intent.DeviceSpec) *kind {
	if s == nil {
		return nil
	}
	return kinds()[s.DeviceKind()]
}

// renderFunc renders the object of an intent; nil for an intent that needs no object.
type renderFunc func(*renderer, *wanted, intent.DeviceSpec) (openwrt.Resource, error)

// renderWith wraps f to take any intent.
func renderWith[S intent.DeviceSpec](f func(*renderer, *wanted, S) (openwrt.Resource, error)) renderFunc {
	return func(r *renderer, w *wanted, spec intent.DeviceSpec) (openwrt.Resource, error) {
		s, ok := spec.(S)
		if !ok {
			return nil, errors.New("its spec does not match its kind")
		}
		return f(r, w, s)
	}
}

// places lists what only one object can have in the kernel.
func places(k openwrt.Kind, o openwrt.Object) []string {
	if of := kindsByObject()[k].places; of != nil {
		return of(o)
	}
	return nil
}

func routePlaces(o openwrt.Object) []string {
	return []string{"route to " + textIn(o, "dst") + " in table " + textIn(o, "table")}
}

func ruleOfRoutesPlaces(o openwrt.Object) []string {
	not, _ := o["flag"].(bool)
	return []string{strings.Join([]string{
		"rule", fmt.Sprint(not), textIn(o, "prio"), textIn(o, "src"), textIn(o, "dst"), textIn(o, "fwmark"),
		orWord(textIn(o, "table"), "main"),
	}, " ")}
}

func applicationPlaces(o openwrt.Object) []string {
	var out []string
	for a := range strings.SplitSeq(textIn(o, "iplist"), ",") {
		out = append(out, addressPlace(a))
	}
	return out
}

func textIn(o openwrt.Object, field string) string {
	s, _ := o[field].(string)
	return s
}
