package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// objectNamed reads the name of one object that manifests may declare, or of a workload; the namespace is that of a name without one.
func objectNamed(text, namespace string) (object.Ref, error) {
	n, err := name.Parse(text, namespace, name.Known{Kind: furtherKind})
	switch {
	case err != nil:
		return object.Ref{}, err
	case n.Kind == "" || n.Kind == name.Address:
		return object.Ref{}, fmt.Errorf("%q: expected one of %s, a slash and a name", text, strings.Join(kindWords(), ", "))
	case n.Several() || n.Port != "" || strings.Contains(n.Name, "/"):
		return object.Ref{}, fmt.Errorf("%q: expected the name of one object", text)
	}
	return object.Ref{Kind: n.Kind.InManifests(), Namespace: n.Namespace, Name: n.Name}, nil
}

// furtherKind reads a word for a kind that questions do not name.
func furtherKind(word string) (name.Kind, bool) {
	for _, r := range namedResources() {
		if strings.EqualFold(word, r.Kind) || strings.EqualFold(word, r.Plural) {
			return name.Kind(r.Kind), true
		}
	}
	return "", false
}

// kindWords lists a word for each kind.
func kindWords() []string {
	var out []string
	for _, r := range namedResources() {
		out = append(out, strings.ToLower(r.Kind))
	}
	for _, k := range []name.Kind{name.Deployment, name.StatefulSet, name.DaemonSet, name.ReplicaSet, name.Job, name.CronJob, name.Rollout} {
		out = append(out, string(k))
	}
	return out
}

func namedResources() []source.Resource {
	return slices.Concat(source.Resources(), source.QuestionResources())
}
