package policy

import (
	"encoding/json"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/field"
)

// LoggingAnnotation asks for audit lines: on a namespace for all its policies, on a policy for that one, overriding the
// namespace. Its value is JSON such as {"allow":"notice","deny":"alert","rate":20}; severities are those of ovn-nb(5),
// the rate is in lines per second, and what is left out is not logged. The annotation of ovn-kubernetes is supported
// too.
const LoggingAnnotation = "netloom.io/acl-logging"

const ovnKubernetesLogging = "k8s.ovn.org/acl-logging"

// loggingOf reads the annotation. It returns false if there is none, or none that can be parsed.
func loggingOf(annotations map[string]string, faults *field.Faults) (intent.Logging, bool) {
	for _, key := range []string{LoggingAnnotation, ovnKubernetesLogging} {
		value := annotations[key]
		if value == "" {
			continue
		}
		l, err := parseLogging(value)
		if err != nil {
			faults.Add("metadata.annotations["+key+"]", "%v; the annotation is ignored", err)
			return intent.Logging{}, false
		}
		return l, true
	}
	return intent.Logging{}, false
}

func parseLogging(value string) (intent.Logging, error) {
	var raw struct {
		Allow string `json:"allow"`
		Deny  string `json:"deny"`
		Rate  uint32 `json:"rate"`
	}
	if err := json.Unmarshal([]byte(value), &raw); err != nil {
		return intent.Logging{}, err
	}
	allow, err := intent.ParseSeverity(raw.Allow)
	if err != nil {
		return intent.Logging{}, err
	}
	deny, err := intent.ParseSeverity(raw.Deny)
	if err != nil {
		return intent.Logging{}, err
	}
	return intent.Logging{Allow: allow, Deny: deny, Rate: raw.Rate}, nil
}

func sameLogging(a, b map[string]string) bool {
	return a[LoggingAnnotation] == b[LoggingAnnotation] && a[ovnKubernetesLogging] == b[ovnKubernetesLogging]
}
