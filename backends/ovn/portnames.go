package ovn

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// PortNames says how the logical ports of an endpoint are found. Make it with ParsePortNames; the zero value finds none.
type PortNames struct {
	templates []string // of names; an endpoint may have a port for each
	key       string   // of external_ids; "" to go by name
	value     string   // template of the value under key
}

// The names that other OVN controllers give to the logical port of a pod.
const (
	namesOVNKubernetes = "{namespace}_{pod}"
	namesKubeOVN       = "{pod}.{namespace}"
	namesNodus         = "{namespace}_{pod}"
)

// DefaultPortNames is the preset used where nothing is configured.
const DefaultPortNames = "ovn-kubernetes"

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// ParsePortNames reads how logical ports are found:
//
//	ovn-kubernetes, kube-ovn, nodus      the names that these give
//	{namespace}_{pod}[,…]                templates of names; {cluster} may stand in them too
//	external-ids:KEY[=TEMPLATE]          by the value of a key in external_ids, {namespace}/{pod} unless given
func ParsePortNames(s string) (PortNames, error) {
	if spec, ok := strings.CutPrefix(s, "external-ids:"); ok {
		key, value, given := strings.Cut(spec, "=")
		if !given {
			value = "{namespace}/{pod}"
		}
		if key == "" {
			return PortNames{}, fmt.Errorf("port names %q: expected a key after external-ids:", s)
		}
		return PortNames{key: key, value: value}, checkTemplate(value)
	}
	var n PortNames
	for part := range strings.SplitSeq(s, ",") {
		switch part = strings.TrimSpace(part); part {
		case "ovn-kubernetes":
			part = namesOVNKubernetes
		case "kube-ovn":
			part = namesKubeOVN
		case "nodus":
			part = namesNodus
		}
		if err := checkTemplate(part); err != nil {
			return PortNames{}, err
		}
		n.templates = append(n.templates, part)
	}
	return n, nil
}

func checkTemplate(t string) error {
	for _, p := range placeholder.FindAllString(t, -1) {
		if p != "{namespace}" && p != "{pod}" && p != "{cluster}" {
			return fmt.Errorf("port names %q: unknown %s, expected {namespace}, {pod} or {cluster}", t, p)
		}
	}
	if !strings.Contains(t, "{pod}") {
		return fmt.Errorf("port names %q: expected ovn-kubernetes, kube-ovn, nodus, a template with {pod}, or external-ids:KEY", t)
	}
	return nil
}

// Names lists the names that k's logical ports have. It is empty where ports are found by external_ids.
func (n PortNames) Names(k intent.Key) []string {
	names := make([]string, len(n.templates))
	for i, t := range n.templates {
		names[i] = fill(t, k)
	}
	return names
}

// IndexKey is the external_ids key by which ports are found, "" where they are found by name.
func (n PortNames) IndexKey() string { return n.key }

func fill(template string, k intent.Key) string {
	return strings.NewReplacer("{namespace}", k.Namespace, "{pod}", k.Name, "{cluster}", k.Cluster).Replace(template)
}
