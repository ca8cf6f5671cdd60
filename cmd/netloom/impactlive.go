package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/conntrack"
	"github.com/netloom/netloom/pkg/intent"
)

// trackedFlag is where established connections are read.
type trackedFlag struct {
	live bool
	dump string
}

func bindConntrack(cmd *cobra.Command) *trackedFlag {
	f := &trackedFlag{}
	cmd.Flags().BoolVar(&f.live, "live", false, "list the established connections of this node that are cut or kept")
	cmd.Flags().StringVar(&f.dump, "conntrack", "", "with --live, read the output of ovs-appctl dpctl/dump-conntrack from this file, or - for standard input")
	return f
}

// check rejects what does not fit together.
func (f *trackedFlag) check(form string) error {
	switch {
	case f.dump != "" && !f.live:
		return errors.New("--conntrack: expected --live as well")
	case f.live && form != formTable && form != formJSON && form != formYAML:
		return fmt.Errorf("--live: -o %s: expected table, json or yaml", form)
	}
	return nil
}

// print lists the established connections that the step from one state to another cuts or keeps.
func (f *trackedFlag) print(cmd *cobra.Command, before, after world.State, form string) error {
	all, more, err := f.read(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		return err
	}
	if more > 0 {
		cmd.PrintErrf("note: %s beyond the limit, not judged\n", counted(more, "connection"))
	}
	protocols := map[string]intent.Protocol{"tcp": intent.TCP, "udp": intent.UDP, "sctp": intent.SCTP, "icmp": intent.ICMP, "icmpv6": intent.ICMPv6}
	var flows []intent.Flow
	for _, c := range all {
		flows = append(flows, intent.Flow{
			Src: intent.Party{Addr: c.Src}, Dst: intent.Party{Addr: c.Dst}, Protocol: protocols[c.Protocol], Port: c.Port,
		})
	}
	live := impact.LiveOf(before, after, flows)
	out := cmd.OutOrStdout()
	if form == formTable {
		_, err = io.WriteString(out, liveText(&live, paletteFor(out)))
	} else {
		err = printData(out, form, "LiveImpact", live)
	}
	switch {
	case err != nil:
		return err
	case live.Connections == 0:
		return cannotTell("no established connection of a pod of these states was found")
	case live.Cut > 0:
		return differs()
	}
	return nil
}

func (f *trackedFlag) read(ctx context.Context, stdin io.Reader) ([]conntrack.Connection, int, error) {
	if f.dump == "" {
		all, more, err := conntrack.Dump(ctx)
		if err != nil {
			return nil, 0, fmt.Errorf("cannot read the connections of this machine: %w; run this on a node, with the right to ask its ovs-vswitchd, or save "+
				"there what \"ovs-appctl dpctl/dump-conntrack\" prints, and use --conntrack FILE", err)
		}
		return all, more, nil
	}
	in := stdin
	if f.dump != "-" {
		file, err := os.Open(f.dump)
		if err != nil {
			return nil, 0, fmt.Errorf("--conntrack: %w", err)
		}
		defer func() { _ = file.Close() }() // it is only read
		in = file
	}
	all, more, err := conntrack.Read(in)
	if err != nil {
		return nil, 0, fmt.Errorf("--conntrack: %w", err)
	}
	return all, more, nil
}

// liveText formats what a change means for established connections.
func liveText(live *impact.Live, i palette) string {
	w := &answerWriter{palette: i}
	for _, cut := range []bool{true, false} {
		n, head := live.Kept, "kept"
		if cut {
			n, head = live.Cut, i.bad("cut")
		}
		w.line("%s: %s", head, counted(n, "established connection"))
		for _, f := range live.Flows {
			if f.Cut == cut {
				w.line("  %s -> %s %s: %d", f.From, f.To, f.Port, f.Connections)
			}
		}
	}
	if live.More > 0 {
		w.line("%d of them are of flows beyond the limit, which are not listed", live.More)
	}
	if live.Denied > 0 {
		w.line("not allowed in the first state either: %d", live.Denied)
	}
	return w.String()
}
