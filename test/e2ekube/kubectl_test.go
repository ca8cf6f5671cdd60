//go:build e2e

package e2ekube_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// kubectl does what kubectl does, as far as the docs need it: not every machine that runs the tests has one. The test binary is called so.
func kubectl(ctx context.Context, args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("kubectl", flag.ContinueOnError)
	namespace, file := flags.String("n", "default", ""), flags.String("f", "", "")
	condition, part, patch := flags.String("for", "", ""), flags.String("subresource", "", ""), flags.String("p", "", "")
	var words []string // options may come in between
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	pods := client.CoreV1().Pods(*namespace)
	switch verb := words[0]; verb {
	case "apply", "delete":
		return each(ctx, client, config, *file, verb)
	case "patch":
		_, err = pods.Patch(ctx, strings.TrimPrefix(words[len(words)-1], "pod/"), types.StrategicMergePatchType, []byte(*patch), metav1.PatchOptions{}, *part)
		return err
	case "wait":
		for want := strings.TrimPrefix(*condition, "condition="); ; time.Sleep(20 * time.Millisecond) { // pause: as kubectl watches
			p, err := pods.Get(ctx, strings.TrimPrefix(words[len(words)-1], "pod/"), metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range p.Status.Conditions {
				if string(c.Type) == want && c.Status == corev1.ConditionTrue {
					fmt.Printf("pod/%s condition met\n", p.Name)
					return nil
				}
			}
		}
	default:
		return fmt.Errorf("kubectl %s: the tests do not have that", verb)
	}
}

// each applies or deletes the objects of a file, "-" for standard input.
func each(ctx context.Context, client kubernetes.Interface, config *rest.Config, name, verb string) error {
	in := io.ReadCloser(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for reader := yaml.NewYAMLOrJSONDecoder(in, 4096); ; {
		var o unstructured.Unstructured
		if err := reader.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		if err != nil {
			return err
		}
		of := objects.Resource(mapping.Resource).Namespace(o.GetNamespace())
		if verb == "delete" {
			err = of.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
		} else {
			_, err = of.Apply(ctx, o.GetName(), &o, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s/%s %s\n", mapping.Resource.Resource, o.GetName(), verb)
	}
}
