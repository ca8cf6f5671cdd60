package tungsten

import (
	"errors"
	"fmt"
	"net/netip"
)

// Pod is a pod for which kube-manager makes an interface.
type Pod struct {
	Cluster   string // as kube-manager calls it
	Namespace string
	Name      string
	UID       string // a UUID
	Addrs     []netip.Addr
}

// AddPod makes what kube-manager makes for a pod: the project of its namespace, a virtual machine with the UID, an interface and
// the addresses. The network of pods has all addresses.
func (s *Server) AddPod(p Pod) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.commit()
	if err := s.addPod(p); err != nil {
		return fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return nil
}

func (s *Server) addPod(p Pod) error {
	network, err := s.clusterNetwork(p.Cluster, "pod")
	if err != nil {
		return err
	}
	project, err := s.podProject(p.Cluster, p.Namespace)
	if err != nil {
		return err
	}
	machine := p.Cluster + "__" + p.Namespace + "__" + p.Name
	notes := func(more ...string) dict {
		list := []any{}
		pairs := append([]string{"kind", "Pod", "name", p.Name, "namespace", p.Namespace, "owner", "k8s", "cluster", p.Cluster}, more...)
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, dict{{"key", pairs[i]}, {"value", pairs[i+1]}})
		}
		return dict{{"key_value_pair", list}}
	}
	if _, err := s.make("virtual-machine", dict{
		{"fq_name", anys([]string{machine})}, {"uuid", p.UID}, {"annotations", notes("k8s_uuid", p.UID)},
	}); err != nil {
		return err
	}
	id := newUUID()
	name := append(append([]string{}, project.fqName...), p.Name+"__"+id)
	if _, err := s.make("virtual-machine-interface", dict{
		{"fq_name", anys(name)},
		{"uuid", id},
		{"parent_type", "project"},
		{"annotations", notes("project", project.name(), "index", "0/1", "network", "default")},
		{"virtual_network_refs", refTo(network.fqName)},
		{"virtual_machine_refs", refTo([]string{machine})},
	}); err != nil {
		return err
	}
	for _, addr := range p.Addrs {
		if _, err := s.make("instance-ip", dict{
			{"fq_name", anys([]string{p.Name + "__" + newUUID()})},
			{"instance_ip_address", addr.String()},
			{"virtual_network_refs", refTo(network.fqName)},
			{"virtual_machine_interface_refs", refTo(name)},
		}); err != nil {
			return err
		}
	}
	return nil
}

// RemovePod deletes what AddPod made for the pod with this UID, as far as it is there, except for the project.
func (s *Server) RemovePod(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.commit()
	machine := s.db.byUUID[uid]
	if machine == nil || machine.kind.name != "virtual-machine" {
		return
	}
	for _, port := range machine.backRefs["virtual-machine-interface"] {
		for _, address := range port.backRefs["instance-ip"] {
			s.db.delete(address)
		}
		s.db.delete(port)
	}
	s.db.delete(machine)
}

func refTo(fqName []string) []any { return []any{dict{{"to", anys(fqName)}, {"attr", nil}}} }

// make creates an object like a POST.
func (s *Server) make(kind string, body dict) (*object, error) {
	o, bad := s.db.create(s.db.kinds[kind], body)
	if bad != nil {
		return nil, errors.New(bad.text)
	}
	s.db.add(o)
	s.db.afterCreate(o)
	return o, nil
}

// podProject returns the project of a namespace.
func (s *Server) podProject(cluster, namespace string) (*object, error) {
	name := []string{"default-domain", cluster + "-" + namespace}
	if o := s.db.find("project", name); o != nil {
		return o, nil
	}
	return s.make("project", dict{{"fq_name", anys(name)}, {"parent_type", "domain"}})
}

// AddCluster makes what kube-manager makes for a cluster at its start: the project of the namespace default with the network of pods
// and that of Services. Both have all addresses.
func (s *Server) AddCluster(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.commit()
	for _, of := range []string{"pod", "service"} {
		if _, err := s.clusterNetwork(name, of); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	return nil
}

// clusterNetwork returns the network of the pods or the Services of a cluster.
func (s *Server) clusterNetwork(cluster, of string) (*object, error) {
	project, err := s.podProject(cluster, "default")
	if err != nil {
		return nil, err
	}
	name := append(append([]string{}, project.fqName...), cluster+"-default-"+of+"-network")
	if o := s.db.find("virtual-network", name); o != nil {
		return o, nil
	}
	ipam := append(append([]string{}, project.fqName...), of+"-ipam")
	if _, err := s.make("network-ipam", dict{{"fq_name", anys(ipam)}, {"parent_type", "project"}}); err != nil {
		return nil, err
	}
	subnets := []any{}
	for _, all := range []string{"0.0.0.0", "::"} {
		subnets = append(subnets, dict{{"subnet", dict{{"ip_prefix", all}, {"ip_prefix_len", number(0)}}}})
	}
	return s.make("virtual-network", dict{
		{"fq_name", anys(name)},
		{"parent_type", "project"},
		{"network_ipam_refs", []any{dict{{"to", anys(ipam)}, {"attr", dict{{"ipam_subnets", subnets}}}}}},
	})
}
