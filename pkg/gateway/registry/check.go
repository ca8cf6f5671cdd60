package registry

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/definition"
)

// Check reads the files once and returns all faults, and the objects without faults. Names that belong to another cluster are faults.
func Check(dir string) ([]*v1alpha1.UpstreamCluster, error) {
	names, err := list(dir)
	if err != nil {
		return nil, err
	}
	var out []*v1alpha1.UpstreamCluster
	var faults []error
	from := map[string]string{}
	for _, name := range names {
		text, err := readFile(filepath.Join(dir, name))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, e := range definition.Read(text) {
			first, again := from[e.Name]
			switch {
			case again:
				faults = append(faults, fmt.Errorf("%s: %w", name, errAgain(e.Name, first)))
				continue
			case e.Err != nil:
				faults = append(faults, fmt.Errorf("%s: %s: %w", name, e.Name, e.Err))
			default:
				out = append(out, e.Object)
			}
			if e.Name != "" {
				from[e.Name] = name // also if it has faults: then the name is not served from another file either
			}
		}
	}
	return out, errors.Join(append(faults, hostFaults(out, from)...)...)
}

// errAgain is the fault of a cluster that another file has, which is used.
func errAgain(cluster, file string) error {
	return fmt.Errorf("%s: metadata.name: the cluster is defined in %s already", cluster, file)
}

// hostFaults returns the host names that belong to another cluster: the one whose metadata.name it is, otherwise the oldest, and of those that are
// as old the first by name, as with Set.
func hostFaults(clusters []*v1alpha1.UpstreamCluster, from map[string]string) (faults []error) {
	owners := map[string]string{}
	for _, c := range clusters {
		owners[strings.ToLower(c.Name)] = c.Name
	}
	byAge := slices.SortedStableFunc(slices.Values(clusters), func(a, b *v1alpha1.UpstreamCluster) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, c := range byAge {
		for i, host := range c.Spec.SecureServing.ServerNames {
			if owner, taken := owners[host]; taken && owner != c.Name {
				faults = append(faults, fmt.Errorf("%s: %s: spec.secureServing.serverNames[%d]: %s is a name of cluster %s, in %s", from[c.Name], c.Name, i, host, owner, from[owner]))
				continue
			}
			owners[host] = c.Name
		}
	}
	return faults
}
