package sdwan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// kindServiceRule is the kind of keys under which Services are translated for CNFs; as load balancers they have
// another.
const kindServiceRule = "ServiceRule"

// PutService adds or replaces a Service. Resources that name it are translated again.
func (t *Table) PutService(o *corev1.Service) {
	ref := object.Ref{Kind: object.KindService, Namespace: o.Namespace, Name: o.Name}
	t.services[ref] = o
	t.touch(ref)
	rule := ruleOf(ref)
	switch rules := t.options.ServiceRules; {
	case rules == ServiceRulesAll, rules == ServiceRulesLabelled && o.Labels[v1alpha1.LabelPurpose] != "":
		t.put(rule, o)
	case t.objects[rule] != nil:
		t.Remove(rule)
	}
}

// RemoveService removes a Service.
func (t *Table) RemoveService(ref object.Ref) {
	delete(t.services, ref)
	t.touch(ref)
	if rule := ruleOf(ref); t.objects[rule] != nil {
		t.Remove(rule)
	}
}

func ruleOf(service object.Ref) object.Ref {
	return object.Ref{Kind: kindServiceRule, Namespace: service.Namespace, Name: service.Name}
}

// translateServiceRule forwards each port of a Service, on the CNFs, to its cluster IP. These are NATs between
// interfaces, because no zone is needed for them.
func (t *Table) translateServiceRule(ref object.Ref, o *corev1.Service) (*result, []object.Problem) {
	e := t.begin(ref, object.KindService, o)
	scope, ok := t.source.LabelledScope(o, &e.Faults)
	if !ok {
		if len(e.List) > 0 || t.options.ServicePurpose == "" || t.options.ServiceRules != ServiceRulesAll {
			return nil, e.List
		}
		scope = t.source.Scope(o.Namespace, t.options.ServicePurpose)
	}
	e.scope = scope
	to := clusterIPv4(o)
	if !to.IsValid() || o.Spec.Type == corev1.ServiceTypeExternalName {
		if ok {
			e.Add("spec.clusterIP", "expected an IPv4 address to which CNFs can redirect a port")
		}
		return nil, e.List
	}
	for i := range o.Spec.Ports {
		p := &o.Spec.Ports[i]
		path := fmt.Sprintf("spec.ports[%d]", i)
		proto, known := field.Protocol(&p.Protocol)
		if !known || proto == intent.SCTP {
			e.Add(path+".protocol", "%q: expected TCP or UDP; the port is ignored on CNFs", p.Protocol)
			continue
		}
		number, ok := e.PortNumber(path+".port", p.Port)
		word := strings.ToLower(proto.String())
		if !ok || !e.take(path, port{scope, word, number}) {
			continue
		}
		e.parts = append(e.parts, part{fmt.Sprintf("%s/%d", word, number), &intent.LinkNAT{Translation: intent.Translation{
			Kind: intent.DestinationNAT, Match: intent.Match{Protocol: word, DstPort: number}, Addr: to, Port: number,
		}}})
	}
	e.emit("")
	out := e.out
	return &out, e.List
}
