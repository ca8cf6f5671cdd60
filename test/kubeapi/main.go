package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // as in the programs themselves
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	args := os.Args
	if name := filepath.Base(args[0]); !known(name) && len(args) > 1 {
		args = args[1:]
	}
	switch filepath.Base(args[0]) {
	case "etcd":
		etcdmain.Main(args)
	case "kube-apiserver":
		os.Exit(run(apiserver.NewAPIServerCommand(), args[1:]))
	case "kube-controller-manager":
		os.Exit(run(manager.NewControllerManagerCommand(), args[1:]))
	default:
		fmt.Fprintln(os.Stderr, "usage: kubeapi etcd|kube-apiserver|kube-controller-manager FLAG...")
		os.Exit(2)
	}
}

func known(name string) bool {
	return name == "etcd" || name == "kube-apiserver" || name == "kube-controller-manager"
}

func run(command *cobra.Command, args []string) int {
	command.SetArgs(args)
	return cli.Run(command)
}
