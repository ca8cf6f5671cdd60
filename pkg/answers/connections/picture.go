package connections

import (
	"fmt"
	"io"
	"strings"

	"github.com/netloom/netloom/pkg/answers/picture"
)

// WriteDOT writes a report as a directed graph in the DOT language of Graphviz: workloads as nodes, in a cluster for each namespace, and
// connections as edges with their ports.
func (r *Report) WriteDOT(w io.Writer) error { return r.picture().WriteDOT(w) }

// WriteSVG writes a report as a picture: namespaces as boxes in columns, with their workloads, and connections as arrows. Each arrow has a
// tooltip with its ends and ports.
func (r *Report) WriteSVG(w io.Writer) error { return r.picture().WriteSVG(w) }

func (r *Report) picture() *picture.Picture {
	out := &picture.Picture{Title: "Allowed connections"}
	for i := range r.Groups {
		g := &r.Groups[i]
		group := picture.Group{Name: fmt.Sprintf("group %d (%s)", g.ID, counted(len(g.Ends), "workload"))}
		for k := range g.Ends {
			e := &g.Ends[k]
			group.Members = append(group.Members, picture.Member{
				Box: e.Namespace, Label: strings.TrimPrefix(e.Name, e.Namespace+"/"), Title: e.Name, Several: len(e.Keys) > 1,
			})
		}
		if len(g.Ends) == 0 {
			group.Members = []picture.Member{picture.Outside(g.Outside)}
		}
		out.Groups = append(out.Groups, group)
	}
	for i := range r.Connections {
		c := &r.Connections[i]
		text := c.Ports
		if c.Family != "" {
			text = c.Family + ": " + text
		}
		out.Links = append(out.Links, picture.Link{From: c.From - 1, To: c.To - 1, Text: text})
	}
	return out
}
