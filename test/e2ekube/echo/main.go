//go:build e2e

// Command echo does as little as a program can that follows an API server by writing to a Northbound database: for each changed pod,
// it moves the pod from some address sets and port groups to others, whatever the change is. What it takes is the floor of what netloom
// takes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "API server")
	nb := flag.String("nb", "", "Northbound database")
	var e echo
	flag.IntVar(&e.sets, "sets", 2, "address sets that each event changes")
	flag.IntVar(&e.groups, "groups", 0, "port groups that each event changes")
	flag.Parse()
	if err := e.run(context.Background(), *kubeconfig, *nb); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

// echo is what is written for an event.
type echo struct {
	sets, groups int
	ports        map[string]any // logical ports, by name
	odd          map[string]bool
}

func (e *echo) run(ctx context.Context, kubeconfig, nb string) error {
	wire, err := ovsdbtest.DialRaw(ctx, nb, "OVN_Northbound")
	if err != nil {
		return err
	}
	if err := e.prepare(wire); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.ContentType = runtime.ContentTypeProtobuf // as netloom does
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	w, err := client.CoreV1().Pods(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{ResourceVersion: pods.ResourceVersion})
	if err != nil {
		return err
	}
	_, _ = fmt.Println("ready")
	for event := range w.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type != watch.Modified {
			continue
		}
		if _, err := wire.Transact(e.move(pod)...); err != nil {
			return err
		}
	}
	return nil
}

// prepare creates the rows, and reads which ports there are.
func (e *echo) prepare(wire *ovsdbtest.Raw) error {
	e.ports, e.odd = map[string]any{}, map[string]bool{}
	ops := []any{map[string]any{
		"op": "select", "table": "Logical_Switch_Port", "where": []any{}, "columns": []any{"_uuid", "name"},
	}}
	for table, n := range map[string]int{"Address_Set": e.sets, "Port_Group": e.groups} {
		for i := range n {
			ops = append(ops, map[string]any{"op": "insert", "table": table, "row": map[string]any{"name": name(i)}})
		}
	}
	results, err := wire.Transact(ops...)
	if err != nil {
		return err
	}
	rows, _ := results[0]["rows"].([]any)
	for _, row := range rows {
		if port, ok := row.(map[string]any); ok {
			e.ports[fmt.Sprint(port["name"])] = port["_uuid"]
		}
	}
	return nil
}

func name(i int) string { return fmt.Sprintf("echo%d", i) }

// move has a pod join every other row and leave the rest, and the next time the other way around.
func (e *echo) move(pod *corev1.Pod) []any {
	address, port := pod.Status.PodIP, e.ports[pod.Namespace+"_"+pod.Name]
	e.odd[address] = !e.odd[address]
	var ops []any
	mutate := func(table, column string, i int, value any) {
		mutator := "insert"
		if (i%2 == 0) != e.odd[address] {
			mutator = "delete"
		}
		ops = append(ops, map[string]any{
			"op": "mutate", "table": table, "where": []any{[]any{"name", "==", name(i)}},
			"mutations": []any{[]any{column, mutator, value}},
		})
	}
	for i := range e.sets {
		mutate("Address_Set", "addresses", i, address)
	}
	for i := range e.groups {
		mutate("Port_Group", "ports", i, port)
	}
	return ops
}
