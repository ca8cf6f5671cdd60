package offline

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// Other is another cluster of the set: a directory or file of manifests.
type Other struct{ Name, Path string }

// member is one of several clusters.
type member struct {
	*manifests

	opts     Manifests
	judged   bool   // its policies were read
	unread   string // why its objects were not read
	standIns *cluster
}

// others reads the other clusters, and sets the name of the own cluster if the manifests have it.
func (m *manifests) others(opts *Manifests) ([]*member, error) {
	var out []*member
	if set := m.clusters(); opts.Set && set != nil {
		opts.Translator.Cluster, opts.Translator.ClusterSet = set.Own, field.LocalByDefault
		if set.Everywhere {
			opts.Translator.ClusterSet = field.SetByDefault
		}
		for _, o := range set.Others {
			of := Manifests{Paths: []string{"-"}, Stdin: bytes.NewReader(o.List), Live: true, MaxFile: math.MaxInt64 - 1}
			read, err := readMember(&of, opts, o.Name)
			if err != nil {
				return nil, err
			}
			read.unread = o.Unread
			out = append(out, read)
		}
	}
	if len(opts.Others) > 0 && opts.Translator.Cluster == "" {
		return nil, errors.New("--peer-manifests needs --cluster, the name of the own cluster")
	}
	for _, p := range opts.Others {
		// With its policies, a cluster counts in place of what a daemon has read of it.
		out = slices.DeleteFunc(out, func(m *member) bool { return m.name() == p.Name })
		of := Manifests{Paths: []string{p.Path}, Live: opts.Live, Ignore: opts.Ignore, Namespace: opts.Namespace, MaxFile: opts.MaxFile}
		if p.Path == "-" {
			return nil, fmt.Errorf("cluster %s: expected a directory or a file", p.Name)
		}
		read, err := readMember(&of, opts, p.Name)
		if err != nil {
			return nil, err
		}
		read.judged = true
		out = append(out, read)
	}
	return out, distinct(opts.Translator.Cluster, out)
}

// readMember reads another cluster, with the translator options of the own cluster.
func readMember(of, own *Manifests, name string) (*member, error) {
	of.Translator, of.Networks = own.Translator, own.Networks
	of.Translator.Cluster, of.Translator.Node = name, ""
	read, err := readManifests(*of)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return &member{manifests: read, opts: *of}, nil
}

// distinct fails if two clusters have the same name, and orders the others by it.
func distinct(own string, others []*member) error {
	slices.SortStableFunc(others, func(a, b *member) int { return strings.Compare(a.name(), b.name()) })
	var faults []error
	for i, m := range others {
		if m.name() == own || i > 0 && m.name() == others[i-1].name() {
			faults = append(faults, fmt.Errorf("two clusters have the name %s", m.name()))
		}
	}
	return errors.Join(faults...)
}

func (m *member) name() string { return m.opts.Translator.Cluster }

// clusters is the set of clusters that the manifests belong to, according to the daemon that listed them.
func (m *manifests) clusters() *manifest.Clusters { return manifest.ClustersOf(m.content[streamName]) }

// complete adds what clusters would add to their objects. Made-up addresses are different in all of them.
func complete(members []*member) {
	for _, m := range members {
		m.standIns = m.surveyed()
	}
	taken := func(a netip.Addr) bool {
		return slices.ContainsFunc(members, func(m *member) bool { return m.standIns.has(a) })
	}
	for _, m := range members {
		if !m.opts.Live {
			m.standIns.complete(m.manifests, taken)
		}
	}
}

// madeUpBy reports whether an address was made up for one of some clusters; nil if none was.
func madeUpBy(members []*member) func(netip.Addr) bool {
	all := map[netip.Addr]bool{}
	for _, m := range members {
		for _, a := range m.standIns.made.All() {
			all[a] = true
		}
	}
	if len(all) == 0 {
		return nil
	}
	return func(a netip.Addr) bool { return all[a] }
}

// putOthers puts the pods and namespaces of the other members.
func (m *member) putOthers(t *translator.Translator, members []*member) {
	for _, other := range members {
		if other == m {
			continue
		}
		all := other.standIns.objects
		for _, ref := range slices.SortedFunc(maps.Keys(all), object.Ref.Compare) {
			switch o := all[ref].(type) {
			case *corev1.Pod, *corev1.Namespace:
				_ = t.PutOther(other.name(), o) // it takes both kinds
			}
		}
	}
}

// isJudged reports whether a name is that of a member whose policies were read.
func isJudged(members []*member, name string) bool {
	return slices.ContainsFunc(members, func(m *member) bool { return m.judged && m.name() == name })
}
