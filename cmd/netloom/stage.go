package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/offline"
)

func newStage() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stage -f FILE",
		Short: "Print staged copies of policies, which decide nothing until they are promoted",
		Long: `Print staged copies of the policies in files, for kubectl apply -f -. A copy has the name with a suffix, and annotations that
have it staged and name the policy that it stands for. netloom shows a staged policy and what it would decide, and enforces
nothing of it. So a change of a policy is judged as a change, while the policy stays in force.

Read files or directories, or a List of kubectl get. Nothing is written anywhere.`,
		Example: `  netloom stage -f new.yaml
  kubectl get networkpolicy db -n shop -o yaml | netloom stage -f -`,
	}
	suffix := "-staged"
	printing(cmd, func(documents []unstructured.Unstructured) ([]byte, error) { return offline.Stage(documents, suffix) })
	cmd.Flags().StringVar(&suffix, "suffix", suffix, "what to add to the names")
	return cmd
}

func newPromote() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "promote -f FILE",
		Short: "Print staged policies as they are enforced, under their real names",
		Long: `Print the staged policies in files as they have to be applied to be enforced, for kubectl apply -f -: those that stand for
another policy under its name. Afterwards, delete the copies: see netloom discard. Policies that are staged with their
namespace are not among them: remove the annotation of the namespace.`,
		Example: `  netloom promote -f staged.yaml
  kubectl get networkpolicy db-staged -n shop -o yaml | netloom promote -f -`,
	}
	printing(cmd, offline.Promote)
	return cmd
}

func newDiscard() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discard -f FILE",
		Short: "Print which staged copies of policies to delete",
		Long: `Print the staged copies in files without their specifications, for kubectl delete -f -. Policies that are staged under their
own names are not among them.`,
		Example: `  netloom discard -f staged.yaml
  kubectl get networkpolicy -n shop -o yaml | netloom discard -f -`,
	}
	printing(cmd, offline.Discard)
	return cmd
}

// printing has a command read files and print YAML that is made of them.
func printing(cmd *cobra.Command, makes func([]unstructured.Unstructured) ([]byte, error)) {
	var paths []string
	cmd.Args = cobra.NoArgs
	cmd.Flags().StringArrayVarP(&paths, "filename", "f", nil, "directory of manifests, a file, a pattern, or - for standard input; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		documents, err := offline.Documents(offline.Manifests{Paths: paths, Stdin: cmd.InOrStdin()})
		if err != nil {
			return err
		}
		text, err := makes(documents)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), string(text))
		return err
	}
}
