package conntrack

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// program prints what the datapath of this machine tracks.
const program = "ovs-appctl"

// maxKept is how many different connections are read. A datapath that tracks more has a larger table than Linux has by default.
const maxKept = 1 << 20

// maxLine is the longest line in bytes; one of a connection is far shorter.
const maxLine = 64 << 10

// Read reads a dump. It returns each established connection once, and how many further ones there were beyond the first 1,048,576.
func Read(r io.Reader) (all []Connection, more int, err error) {
	seen := map[Connection]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		c, ok := Parse(lines.Text())
		switch {
		case !ok || seen[c]:
		case len(all) == maxKept:
			more++
		default:
			seen[c] = true
			all = append(all, c)
		}
	}
	return all, more, lines.Err()
}

// Dump reads what the datapath of this machine tracks now. It needs Open vSwitch on this machine, and the right to ask it.
func Dump(ctx context.Context) (all []Connection, more int, err error) {
	cmd := exec.CommandContext(ctx, program, "dpctl/dump-conntrack")
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s dpctl/dump-conntrack: %w", program, err)
	}
	all, more, err = Read(out)
	_, _ = io.Copy(io.Discard, out) // what follows a line that is too long, so that the program can end
	if ended := cmd.Wait(); ended != nil {
		return nil, 0, fmt.Errorf("%s dpctl/dump-conntrack: %w: %s", program, ended, strings.TrimSpace(faults.String()))
	}
	return all, more, err
}
