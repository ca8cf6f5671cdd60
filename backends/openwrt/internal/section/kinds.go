package section

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/netloom/netloom/pkg/openwrt"
)

// kind describes the sections of one kind.
type kind struct {
	// digits is the length of the hash in names that must be short and have no readable part: mwan3 ignores policies and rules
	// with names of more than 15 characters, and a zone's name has at most 11. 0 is for names of any length.
	digits int
	// places lists what only one object can have in the kernel, which takes the same route or rule once, and loses it when
	// either object is deleted. It is nil for kinds without such places.
	places func(openwrt.Object) []string
}

// kinds has what is special about a kind; most have nothing.
var kinds = sync.OnceValue(func() map[openwrt.Kind]kind {
	return map[openwrt.Kind]kind{
		openwrt.Zones:        {digits: zoneDigits},
		openwrt.Policies:     {digits: idDigits},
		openwrt.PolicyRules:  {digits: idDigits},
		openwrt.Routes:       {places: routePlaces},
		openwrt.RouteRules:   {places: ruleOfRoutesPlaces},
		openwrt.Applications: {places: applicationPlaces},
	}
})

// Places lists what only one object can have in the kernel.
func Places(k openwrt.Kind, o openwrt.Object) []string {
	if of := kinds()[k].places; of != nil {
		return of(o)
	}
	return nil
}

func routePlaces(o openwrt.Object) []string {
	return []string{"route to " + Text(o, "dst") + " in table " + Text(o, "table")}
}

func ruleOfRoutesPlaces(o openwrt.Object) []string {
	not, _ := o["flag"].(bool)
	return []string{strings.Join([]string{
		"rule", fmt.Sprint(not), Text(o, "prio"), Text(o, "src"), Text(o, "dst"), Text(o, "fwmark"),
		cmp.Or(Text(o, "table"), "main"),
	}, " ")}
}

func applicationPlaces(o openwrt.Object) []string {
	var out []string
	for a := range strings.SplitSeq(Text(o, "iplist"), ",") {
		out = append(out, AddressPlace(a))
	}
	return out
}

// AddressPlace returns the place in the kernel of the rule for an address of an application.
func AddressPlace(addr string) string { return "rule of " + addr }

// InKernel reports whether the device reports what the kernel has of a kind.
func InKernel(kind openwrt.Kind) bool { return kinds()[kind].places != nil }
