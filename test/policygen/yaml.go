package policygen

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
)

// YAML prints a cluster as a stream of manifests: namespaces, nodes, pods with their status, policies,
// Services, slices.
func YAML(c *oracle.Cluster) ([]byte, error) {
	var b bytes.Buffer
	add := func(o any) error {
		text, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("print %T: %w", o, err)
		}
		b.WriteString("---\n")
		b.Write(text)
		return nil
	}
	for _, n := range c.Namespaces {
		n = n.DeepCopy()
		n.APIVersion, n.Kind = "v1", "Namespace"
		if err := add(n); err != nil {
			return nil, err
		}
	}
	for _, n := range c.Nodes {
		n = n.DeepCopy()
		n.APIVersion, n.Kind = "v1", "Node"
		if err := add(n); err != nil {
			return nil, err
		}
	}
	for _, p := range c.Pods {
		p = p.DeepCopy()
		p.APIVersion, p.Kind = "v1", "Pod"
		if err := add(p); err != nil {
			return nil, err
		}
	}
	for _, p := range c.Policies {
		p = p.DeepCopy()
		p.APIVersion, p.Kind = "networking.k8s.io/v1", "NetworkPolicy"
		if err := add(p); err != nil {
			return nil, err
		}
	}
	for _, s := range c.Services {
		s = s.DeepCopy()
		s.APIVersion, s.Kind = "v1", "Service"
		if err := add(s); err != nil {
			return nil, err
		}
	}
	for _, s := range c.Slices {
		s = s.DeepCopy()
		s.APIVersion, s.Kind = "discovery.k8s.io/v1", "EndpointSlice"
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
