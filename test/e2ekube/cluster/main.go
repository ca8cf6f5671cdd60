//go:build e2e

// Command cluster runs a Kubernetes API server with its controllers, an OVN control plane, the examples and netloom as
// deploy/ installs it, all on loopback, until it is stopped; then it removes everything. `make cluster` runs it.
//
// No kubelet starts pods: the pods of the examples have the addresses given there, and pods that a user adds have none until
// the user sets their status and adds a logical port. A port of netloom's pod can be forwarded.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log" //nolint:depguard // the loader of charts logs there
	"os"
	"os/signal"
	"syscall"
)

func main() {
	kubeapi := flag.String("kubeapi", "", "program that `make kubeapi` builds")
	netloom := flag.String("netloom", "", "static binary of netloom")
	overlay := flag.String("overlay", "", "kustomization to install")
	flag.Parse()
	log.SetOutput(io.Discard) // of libraries
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, settings{kubeapi: *kubeapi, netloom: *netloom, overlay: *overlay, out: os.Stdout})
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// settings configure what is run.
type settings struct {
	kubeapi, netloom, overlay string
	out                       io.Writer
}

// run works until ctx ends.
func run(ctx context.Context, s settings) (err error) {
	stage := newStage(ctx)
	defer stage.close()
	defer func() {
		if failure, ok := recover().(stageFailure); ok {
			err = failure
		}
	}()
	p := raise(stage, s)
	p.print(s.out)
	<-ctx.Done()
	_, _ = fmt.Fprintln(s.out, "\nTaking everything down.")
	return nil
}
