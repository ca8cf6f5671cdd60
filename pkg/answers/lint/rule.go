package lint

import "slices"

// The rules.
const (
	NotUnderstood       = "not-understood"
	SelectsNothing      = "selects-nothing"
	PeerMatchesNothing  = "peer-matches-nothing"
	UnknownPods         = "unknown-pods"
	HostNetwork         = "host-network"
	UnknownPort         = "unknown-port"
	ServicePort         = "service-port"
	ExceptOutside       = "except-outside"
	EmptyBlock          = "empty-block"
	ClusterIPBlock      = "cluster-ip-block"
	FlowCost            = "flow-cost"
	AllowFromAnywhere   = "allow-from-anywhere"
	OpenToWorld         = "open-to-world"
	NoDNS               = "no-dns"
	RedundantPolicy     = "redundant-policy"
	RedundantRule       = "redundant-rule"
	UnreachableRule     = "unreachable-rule"
	OverriddenPolicy    = "overridden-policy"
	SamePriority        = "same-priority"
	UnisolatedNamespace = "unisolated-namespace"
	UnisolatedPods      = "unisolated-pods"
	UnisolatedEgress    = "unisolated-egress"
	StagedPolicy        = "staged-policy"
	StagesNothing       = "stages-nothing"
	UnusedIgnore        = "unused-ignore"
	InvalidIgnore       = "invalid-ignore"
)

// Rule is one kind of mistake.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Doc      string   `json:"doc"`    // what is wrong, and why it matters
	Remedy   string   `json:"remedy"` // what to do
}

// Rules lists all rules, in the order of documentation.
func Rules() []Rule {
	return []Rule{
		{
			NotUnderstood, Error, "A manifest, or a field of it, cannot be understood. Such a field allows nothing, so traffic may be denied.",
			"Correct the field.",
		},
		{
			SelectsNothing, Warning, "A policy selects no pod, so it protects nothing. Often a label is misspelled.",
			"Compare the selector with the labels of the pods, or remove the policy.",
		},
		{
			PeerMatchesNothing, Warning, "A selector of a peer matches no pod, so the element allows nothing. Often a label is misspelled, or a " +
				"namespaceSelector is missing: without one, only pods in the policy's own namespace match.",
			"Compare the selectors with the labels of the pods and namespaces.",
		},
		{
			UnknownPods, Info, "A selector matches no pod of the manifests, but may match pods that they do not declare: those that operators create, " +
				"or pods of other namespaces.",
			"Nothing, or judge the policy in the cluster, with --kubeconfig.",
		},
		{
			HostNetwork, Warning, "A selector matches only pods on the networks of their nodes (hostNetwork). Policies do not apply to them, and as peers " +
				"they have the addresses of their nodes.",
			"Allow the addresses of the nodes with an ipBlock. Protect such pods with a firewall on the node.",
		},
		{
			UnknownPort, Warning, "No pod declares a container port with this name and protocol, so the element allows nothing.",
			"Use the name of a container port, not that of a Service's port, or a number.",
		},
		{
			ServicePort, Warning, "A rule allows the port of a Service at which none of its pods listens. Policies apply to the pods behind a Service, " +
				"after its address and port have been translated, so the element allows nothing.",
			"Use the port at which the pods listen: targetPort of the Service.",
		},
		{
			ExceptOutside, Warning, "An except is outside of its block and excludes nothing.",
			"Correct the network, or remove the except.",
		},
		{
			EmptyBlock, Warning, "The excepts of a block exclude all of it, so the element allows nothing.",
			"Correct the networks, or remove the element.",
		},
		{
			ClusterIPBlock, Warning, "An ipBlock contains the cluster IP of a Service and no pod. Policies apply to the pods behind a Service, " +
				"after its address has been translated, so the block does not allow the Service.",
			"Select the pods behind the Service with a podSelector.",
		},
		{
			FlowCost, Warning, "A policy costs a node more OpenFlow flows than the limit.",
			"Use fewer ports and peers, or ranges in place of lists.",
		},
		{
			AllowFromAnywhere, Warning, "An ingress rule names no source: it admits every pod and every address, including those outside the cluster.",
			"Name the sources in from. If everyone is to have access, add an ignore with a reason.",
		},
		{
			OpenToWorld, Info, "An ingress rule admits most addresses outside the cluster by an ipBlock.",
			"Name the networks that need access. If the whole world is to have access, add an ignore with a reason.",
		},
		{
			NoDNS, Warning, "Pods are isolated for egress and no rule allows DNS (UDP port 53), so they cannot resolve names. Usually an " +
				"egress rule for DNS was forgotten.",
			"Add an egress rule to the DNS pods with UDP and TCP port 53.",
		},
		{
			RedundantPolicy, Warning, "Without this policy every verdict is the same at present: other policies with the same or a wider " +
				"selector isolate the same pods and allow the same. A policy that allows nothing is not reported, since it states a default.",
			"Remove the policy, or keep only what the others do not have.",
		},
		{
			RedundantRule, Info, "Without this rule every verdict is the same at present: other rules allow the same.",
			"Remove the rule.",
		},
		{
			UnreachableRule, Warning, "A rule never matches at present, because rules that take precedence decide first.",
			"Move the rule before those, or remove it.",
		},
		{
			OverriddenPolicy, Warning, "A policy has no effect in a direction at present, because policies that take precedence decide first.",
			"Change the priorities, or remove the policy.",
		},
		{
			SamePriority, Warning, "Two policies of the same tier and priority do different things with the same traffic, so that only their " +
				"names decide.",
			"Give them different priorities.",
		},
		{
			UnisolatedNamespace, Warning, "No policy isolates any pod of a namespace: every pod and every address that is routed there can reach them.",
			"Add a NetworkPolicy that selects all pods of the namespace and allows nothing, then policies for what is needed.",
		},
		{
			UnisolatedPods, Warning, "Other pods of the namespace are isolated for ingress, but these are not: everyone can reach them.",
			"Add a policy for them, or one that selects all pods of the namespace.",
		},
		{
			UnisolatedEgress, Info, "Pods of the namespace can connect to everything.",
			"Add a policy for egress that allows what the pods need.",
		},
		{
			StagedPolicy, Info, "A policy is staged by the annotation netloom.io/enforcement, of its own or of its namespace: it neither denies " +
				"nor allows anything. It is judged as if it were enforced.",
			"Nothing, or promote the policy: netloom promote.",
		},
		{
			StagesNothing, Info, "A staged policy names a policy that it is to replace by the annotation netloom.io/stages, and there is none of " +
				"that name, or it stages another one itself: the staged policy would be added. That is so for a new policy, and for a misspelt name.",
			"Nothing for a new policy. Otherwise correct the name.",
		},
		{
			UnusedIgnore, Warning, "An ignore matches no finding, or names a rule that does not exist.",
			"Remove it, or correct the name of the rule.",
		},
		{
			InvalidIgnore, Warning, "An ignore names no rule or gives no reason, so it is not applied.",
			"Write the rule and a reason: # netloom:ignore RULE REASON.",
		},
	}
}

// ruleOf returns the rule with an ID; false if there is none.
func ruleOf(id string) (Rule, bool) {
	all := Rules()
	i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return all[i], true
}
