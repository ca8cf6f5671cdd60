package ovsdbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"time"
)

// Cluster is real ovsdb-servers on loopback that share one database by RAFT.
type Cluster struct {
	Members []*Process
	ctx     context.Context //nolint:containedctx // The lifetime of the members.
}

// StartCluster starts n members in dir, with an election timer of one second. They are killed when ctx ends.
func StartCluster(ctx context.Context, dir string, n int, schema []byte) (*Cluster, error) {
	ports, err := freePorts(ctx, 2*n)
	if err != nil {
		return nil, err
	}
	c := &Cluster{ctx: ctx}
	raft := func(i int) string { return "tcp:127.0.0.1:" + strconv.Itoa(ports[2*i]) }
	for i := range n {
		client := strconv.Itoa(ports[2*i+1]) + ":127.0.0.1"
		p, err := newProcess(ctx, dir, "nb"+strconv.Itoa(i+1), schema, []string{"--remote=ptcp:" + client})
		if err != nil {
			return nil, err
		}
		p.address = "tcp:127.0.0.1:" + strconv.Itoa(ports[2*i+1])
		if i == 0 {
			err = p.tool("create-cluster", "--election-timer=1000", p.file(".db"), p.file(".ovsschema"), raft(i))
		} else {
			err = p.tool("join-cluster", p.file(".db"), p.db, raft(i), raft(0))
		}
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("member %d: %w", i+1, err), c.Kill())
		}
		c.Members = append(c.Members, p)
	}
	return c, nil
}

// freePorts finds unused ports. Another process may take one before it is used.
func freePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }()
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("listening on %s", listener.Addr())
		}
		ports[i] = address.Port
	}
	return ports, nil
}

// Endpoints lists the addresses of all members.
func (c *Cluster) Endpoints() []string {
	out := make([]string, len(c.Members))
	for i, p := range c.Members {
		out[i] = p.Addr()
	}
	return out
}

// Leader finds the leader, waiting for the end of an election if there is one. Members that do not answer are skipped.
func (c *Cluster) Leader() (*Process, error) {
	for {
		for _, p := range c.Members {
			one, stop := context.WithTimeout(c.ctx, 200*time.Millisecond)
			state, err := p.State(one)
			stop()
			if err == nil && state.Leader && state.Connected {
				return p, nil
			}
		}
		select {
		case <-c.ctx.Done():
			return nil, fmt.Errorf("wait for a leader: %w", c.ctx.Err())
		case <-time.After(20 * time.Millisecond): // pause: between two looks
		}
	}
}

// Transfer asks the leader to transfer leadership, as it does by itself before it compacts its file.
func (c *Cluster) Transfer() error {
	leader, err := c.Leader()
	if err != nil {
		return err
	}
	program, err := find("ovs-appctl")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(c.ctx, program, "-t", leader.file(".ctl"),
		"cluster/failure-test", "transfer-leadership")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("transfer leadership: %w: %s", err, out)
	}
	return nil
}

// Kill ends every member.
func (c *Cluster) Kill() error {
	var faults []error
	for _, p := range c.Members {
		faults = append(faults, p.Kill())
	}
	return errors.Join(faults...)
}
