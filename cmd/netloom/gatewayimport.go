package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/gateway/kubeconfig"
)

func newGatewayImport() *cobra.Command {
	var dir string
	var contexts []string
	cmd := &cobra.Command{
		Use:   "import KUBECONFIG",
		Short: "Write UpstreamClusters for the contexts of a kubeconfig",
		Long: `Write an UpstreamCluster in YAML for each context of a kubeconfig: its API server, its CA, and its user as the identity of
the gateway, which needs the permissions in docs/gateway.md. Tokens, keys and certificates are in base64, and in files that
the kubeconfig refers to they are read. So the output has credentials: protect it like the kubeconfig.

Contexts that cannot be taken over, such as those with an exec plugin, are reported; then the exit code is 1.`,
		Example: `  netloom gateway import ~/.kube/config > clusters/imported.yaml
  netloom gateway import ~/.kube/config --dir clusters`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return importKubeconfig(args[0], contexts, dir, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory to write a file for each cluster to, with mode 0600; it is made if it does not exist; default: print all")
	cmd.Flags().StringArrayVar(&contexts, "context", nil, "context to take over; can be repeated (default: all)")
	return cmd
}

// importKubeconfig writes an UpstreamCluster for each context, and what is missing in it to notes.
func importKubeconfig(path string, only []string, dir string, out, notes io.Writer) error {
	file, err := kubeconfig.Load(path)
	if err == nil {
		err = kubeconfig.Select(file, only)
	}
	if err != nil {
		return err
	}
	contexts, faults := kubeconfig.TakeOver(file)
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	written := 0
	for i, c := range contexts {
		text, err := yaml.Marshal(c.Object)
		if err != nil {
			return err
		}
		text = append([]byte(importHeader(c.Name)), text...)
		switch {
		case dir != "":
			if err := create(filepath.Join(dir, c.Object.Name+".yaml"), text); err != nil {
				faults = append(faults, err)
				continue
			}
		default:
			if i > 0 {
				text = append([]byte("---\n"), text...)
			}
			if _, err := out.Write(text); err != nil {
				return err
			}
		}
		written++
	}
	if written > 0 {
		_, _ = fmt.Fprintln(notes, "warning: this contains credentials; whoever reads it can use them. To accept the certificates of clients, add spec.secureServing.clientCAData.")
	}
	return errors.Join(faults...)
}

// importHeader says what an object was made of. The name of a context can be any text.
func importHeader(context string) string {
	return fmt.Sprintf("# Context %q of a kubeconfig. It has credentials.\n", context) +
		"# secureServing.clientCAData is the CA of the clients' certificates: kubectl -n kube-system get configmap\n" +
		"# extension-apiserver-authentication -o jsonpath='{.data.client-ca-file}' | base64 -w0\n"
}

// create writes a new file that only its owner can read.
func create(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user names the directory
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.TrimRight(string(text), "\n") + "\n")
	return errors.Join(err, file.Close())
}
