package main

import (
	"encoding/json"
	"fmt"
	"os"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// question is what is asked.
type question struct {
	Kustomizations []string          // directories to render
	Objects        []json.RawMessage // to decode; those of APIs that deploy/ only extends are left out
}

// answer has an element for each of the question.
type answer struct {
	Rendered []string // streams of YAML
	Faults   []string // what is wrong with each object; "" for nothing
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oldest:", err)
		os.Exit(1)
	}
}

func run() error {
	var q question
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	var a answer
	for _, dir := range q.Kustomizations {
		text, err := render(dir)
		if err != nil {
			return fmt.Errorf("render %s: %w", dir, err)
		}
		a.Rendered = append(a.Rendered, text)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, object := range q.Objects {
		fault := ""
		if _, _, err := decoder.Decode(object, nil, nil); err != nil && !runtime.IsNotRegisteredError(err) {
			fault = err.Error()
		}
		a.Faults = append(a.Faults, fault)
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}

// render renders the kustomization in a directory.
func render(dir string) (string, error) {
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return "", err
	}
	text, err := rendered.AsYaml()
	return string(text), err
}
