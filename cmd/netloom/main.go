// Command netloom keeps OVN Northbound databases in sync with the NetworkPolicies and Services of a cluster, and answers
// questions about them.
//
// Each command is one small file here: it reads flags, calls pkg/daemon or a room of pkg/answers, and prints.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netloom/netloom/pkg/version"
)

func main() {
	root := newRoot()
	if percent := gcPercent(root, os.Args[1:], os.Getenv("GOGC")); percent > 0 {
		debug.SetGCPercent(percent)
	}
	os.Exit(interruptible(context.Background(), root, os.Args[1:]))
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string) int { return execute(ctx, newRoot(), args) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "netloom",
		Short: "Translate Kubernetes NetworkPolicies and Services into exact, minimal OVN rows",
		Long: `netloom watches NetworkPolicies, Services and the objects that they refer to, in a cluster or a directory of manifests,
and keeps an OVN Northbound database in sync with them: port groups, address sets, ACLs and load balancers. It does the
same with the tags and rules of Tungsten Fabric, and with CNFs. It only changes what it owns.

  netloom demo                                        try it, without installing anything
  netloom apply -f DIR --ovn-nb ADDR                  sync a database once
  netloom run --ovn-nb ADDR                           keep a database in sync, from inside a cluster`,
		Version:       version.Current().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if isPlugin() {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl netloom"}
	}
	addGroup(root, "Keep targets in sync:", runsUntilInterrupted(newRun()), newApply(), newPlan(), newDrift(), newApprove(), newRemove(),
		runsUntilInterrupted(newWebhook()))
	addGroup(root, "Serve clusters:", runsUntilInterrupted(newGateway()))
	addGroup(root, "Ask what policies mean:", newProbe(), newConnections(), newExplain(), newImpact(), newSuggest(), newTranslate(), newTest())
	addGroup(root, "Check manifests, databases and logs:", newLint(), newAudit(), newVerify(), runsUntilInterrupted(newObserve()))
	addGroup(root, "Stage policies:", newStage(), newPromote(), newDiscard())
	addGroup(root, "Try it:", runsUntilInterrupted(newDemo()), runsUntilInterrupted(newDeviceSim()),
		runsUntilInterrupted(newTungstenSim()))
	root.AddCommand(newVersion())
	root.SetGlobalNormalizationFunc(flagName)
	return root
}

// addGroup adds commands to parent, which lists them below a title in its help.
func addGroup(parent *cobra.Command, title string, commands ...*cobra.Command) {
	parent.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
		parent.AddCommand(c)
	}
}

// flagName gives a flag with two names one: the setting kube-context is the flag --context of kubectl.
func flagName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "kube-context" {
		name = "context"
	}
	return pflag.NormalizedName(name)
}
