package translator

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// kindServiceRule is the kind of keys under which Services are translated for gateways; as load balancers they have
// another.
const kindServiceRule = "ServiceRule"

// putService takes in a Service. Resources that speak of it are translated anew.
func (t *Translator) putService(o *corev1.Service) {
	key := objectKey{KindService, o.Namespace, o.Name}
	t.services.at(key).object = o
	t.touch(key)
	rule := objectKey{kindServiceRule, o.Namespace, o.Name}
	switch rules := t.options.ServiceRules; {
	case rules == ServiceRulesAll, rules == ServiceRulesLabelled && o.Labels[v1alpha1.LabelPurpose] != "":
		t.putSource(rule, o)
	case t.sources[rule] != nil:
		t.removeSource(rule)
	}
}

func (t *Translator) removeService(key objectKey) {
	t.services.at(key).object = nil
	t.touch(key)
	if rule := (objectKey{kindServiceRule, key.namespace, key.name}); t.sources[rule] != nil {
		t.removeSource(rule)
	}
}

// translateServiceRule leads each port of the gateways that a Service has as well to its cluster IP. These are NATs between
// interfaces, because no zone is needed for them.
func (t *Translator) translateServiceRule(key objectKey, o *corev1.Service) (*translation, []Problem) {
	e := t.newEdge(key, KindService, o)
	scope, ok := t.labelledScope(o, &e.problems)
	if !ok {
		if len(e.list) > 0 || t.options.ServicePurpose == "" || t.options.ServiceRules != ServiceRulesAll {
			return nil, e.list
		}
		scope = t.scopeOf(o.Namespace, t.options.ServicePurpose)
	}
	e.scope = scope
	to := clusterIPv4(o)
	if !to.IsValid() || o.Spec.Type == corev1.ServiceTypeExternalName {
		if ok {
			e.add("spec.clusterIP", "expected an IPv4 address, which ports of gateways can lead to")
		}
		return nil, e.list
	}
	for i := range o.Spec.Ports {
		p := &o.Spec.Ports[i]
		path := fmt.Sprintf("spec.ports[%d]", i)
		proto, known := protocolOf(&p.Protocol)
		if !known || proto == intent.SCTP {
			e.add(path+".protocol", "%q: expected TCP or UDP; gateways leave the port out", p.Protocol)
			continue
		}
		port, ok := e.portNumber(path+".port", p.Port)
		word := strings.ToLower(proto.String())
		if !ok || !e.claim(path, portClaim{scope, word, port}) {
			continue
		}
		e.parts = append(e.parts, edgePart{fmt.Sprintf("%s/%d", word, port), &intent.LinkNAT{Translation: intent.Translation{
			Kind: intent.DestinationNAT, Match: intent.Match{Protocol: word, DstPort: port}, Addr: to, Port: port,
		}}})
	}
	e.emit("")
	out := e.out
	return &out, e.list
}
