package translator

import networkingv1 "k8s.io/api/networking/v1"

// Policy is a NetworkPolicy as it was put in last; nil when there is none. It must not be changed.
func (t *Translator) Policy(namespace, name string) *networkingv1.NetworkPolicy {
	np, _ := t.sources[objectKey{KindNetworkPolicy, namespace, name}].(*networkingv1.NetworkPolicy)
	return np
}
