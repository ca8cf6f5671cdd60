package name

import (
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// Kind is a kind of object that a text may name. Its words are those of kubectl.
type Kind string

// The kinds. Those of workloads are short, as answers name them.
const (
	Pod           Kind = "pod"
	NetworkPolicy Kind = "networkpolicy"
	Service       Kind = "service"
	Node          Kind = "node"
	Namespace     Kind = "namespace" // all its pods
	Address       Kind = "address"

	ClusterNetworkPolicy       Kind = "clusternetworkpolicy"
	AdminNetworkPolicy         Kind = "adminnetworkpolicy"
	BaselineAdminNetworkPolicy Kind = "baselineadminnetworkpolicy"

	Deployment  Kind = "deploy"
	StatefulSet Kind = "sts"
	DaemonSet   Kind = "ds"
	ReplicaSet  Kind = "rs"
	Job         Kind = "job"
	CronJob     Kind = "cj"
	Rollout     Kind = "rollout"
)

// words are the words for each kind, in lower case.
var words = map[Kind][]string{
	Pod:                        {"pod", "pods", "po"},
	NetworkPolicy:              {"networkpolicy", "networkpolicies", "netpol", "np"},
	Service:                    {"service", "services", "svc"},
	Node:                       {"node", "nodes", "no"},
	Namespace:                  {"namespace", "namespaces", "ns"},
	ClusterNetworkPolicy:       {"clusternetworkpolicy", "clusternetworkpolicies", "cnp"},
	AdminNetworkPolicy:         {"adminnetworkpolicy", "adminnetworkpolicies", "anp"},
	BaselineAdminNetworkPolicy: {"baselineadminnetworkpolicy", "baselineadminnetworkpolicies", "banp"},
	Deployment:                 {"deploy", "deployment", "deployments"},
	StatefulSet:                {"sts", "statefulset", "statefulsets"},
	DaemonSet:                  {"ds", "daemonset", "daemonsets"},
	ReplicaSet:                 {"rs", "replicaset", "replicasets"},
	Job:                        {"job", "jobs"},
	CronJob:                    {"cj", "cronjob", "cronjobs"},
	Rollout:                    {"rollout", "rollouts", "ro"},
}

// byWord is the kind that each word stands for.
var byWord = func() map[string]Kind {
	out := map[string]Kind{}
	for kind, of := range words {
		for _, word := range of {
			out[word] = kind
		}
	}
	return out
}()

// KindOf reads a word for a kind, in any case; ok is false for any other word.
func KindOf(word string) (kind Kind, ok bool) {
	kind, ok = byWord[strings.ToLower(word)]
	return kind, ok
}

// Workload reports whether objects of the kind create pods.
func (k Kind) Workload() bool {
	switch k {
	case Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, Rollout:
		return true
	case Pod, NetworkPolicy, Service, Node, Namespace, Address, ClusterNetworkPolicy, AdminNetworkPolicy, BaselineAdminNetworkPolicy:
	}
	return false
}

// Namespaced reports whether objects of the kind are in namespaces. Kinds that this package does not know are.
func (k Kind) Namespaced() bool {
	return k != Node && k != Namespace && k != Address && k.Object() == ""
}

// ClusterPolicyKinds lists the kinds of cluster-wide policies.
func ClusterPolicyKinds() []Kind {
	return []Kind{ClusterNetworkPolicy, AdminNetworkPolicy, BaselineAdminNetworkPolicy}
}

// inManifests are the kinds of which manifests use another word.
var inManifests = map[Kind]string{
	Pod: object.KindPod, NetworkPolicy: object.KindNetworkPolicy, Service: object.KindService, Node: object.KindNode, Namespace: object.KindNamespace,
	Deployment: "Deployment", StatefulSet: "StatefulSet", DaemonSet: "DaemonSet", ReplicaSet: "ReplicaSet", Job: "Job", CronJob: "CronJob", Rollout: "Rollout",
}

// InManifests is the kind as in manifests; "" for an address.
func (k Kind) InManifests() string {
	if kind := inManifests[k] + clusterWide[k]; kind != "" {
		return kind
	}
	if k == Address {
		return ""
	}
	return string(k)
}

// clusterWide are the kinds of cluster-wide policies as in manifests.
var clusterWide = map[Kind]string{
	ClusterNetworkPolicy: object.KindClusterNetworkPolicy, AdminNetworkPolicy: object.KindAdminNetworkPolicy,
	BaselineAdminNetworkPolicy: object.KindBaselineAdminNetworkPolicy,
}

// Object returns the kind of a cluster-wide policy as in manifests; "" for every other kind.
func (k Kind) Object() string {
	return clusterWide[k]
}
