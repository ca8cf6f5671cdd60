package picture

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// Picture is what to draw.
type Picture struct {
	Title  string
	Groups []Group
	Links  []Link
}

// Group is ends of links that are linked alike. An end may be in several groups.
type Group struct {
	Name    string // what stands for its members where there are too many arrows
	Members []Member
}

// Member is an end. Two with the same box and title are the same.
type Member struct {
	Box     string // what it is drawn in, such as a namespace
	Outside bool   // it is drawn to the left of all others, in a box of its own
	Label   string
	Title   string // shown when pointing at it: its full name
	Several bool   // a link may be from it to itself, between the pods of a workload
}

// Link is the same connection from each member of a group to each member of another, or to each other one of the same.
type Link struct {
	From, To int // indexes of groups
	Text     string
	Kind     Kind
}

// Kind is how a link is drawn. The zero value is a connection that is allowed.
type Kind int

// Allowed is a connection that is allowed, Opened one that a change allows, and Closed one that it no longer allows.
const (
	Allowed Kind = iota
	Opened
	Closed
)

// class names a kind in a picture.
func (k Kind) class() string {
	switch k {
	case Opened:
		return "opened"
	case Closed:
		return "closed"
	case Allowed:
		return "allowed"
	default:
		return ""
	}
}

// color is that of a kind.
func (k Kind) color() string {
	switch k {
	case Opened:
		return "#1a7f37"
	case Closed:
		return "#cf222e"
	case Allowed:
		return "#0969da"
	default:
		return "#57606a"
	}
}

// Outside is the member for addresses outside.
func Outside(list []netip.Prefix) Member {
	all := make([]string, len(list))
	for i, p := range list {
		all[i] = p.String()
	}
	m := Member{Outside: true, Label: intent.PrefixText(list), Title: strings.Join(all, ", ")}
	if strings.Contains(m.Label, "…") { // it is not complete
		m.Label = fmt.Sprintf("%d blocks", len(all))
	}
	return m
}
