package ovsdbtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Available reports whether ovsdb-server and ovsdb-tool are installed.
func Available() bool {
	_, err := find("ovsdb-server")
	_, err2 := find("ovsdb-tool")
	return err == nil && err2 == nil
}

// find looks for a program also in Debian's directory for daemons, which is not in every PATH.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/sbin"} {
		if path, err2 := exec.LookPath(filepath.Join(dir, program)); err2 == nil {
			return path, nil
		}
	}
	return "", err
}

// Process is a real ovsdb-server that serves one database from a file.
type Process struct {
	ctx     context.Context //nolint:containedctx // The lifetime of the processes that Restart starts.
	dir     string
	name    string
	db      string // database in the file
	address string
	extra   []string
	cmd     *exec.Cmd
	ended   chan struct{}
}

// StartProcess creates a database of the given schema in dir and serves it on a unix socket there. extra arguments are
// passed on, such as another --remote. The server is killed when ctx ends.
func StartProcess(ctx context.Context, dir string, schema []byte, extra ...string) (*Process, error) {
	p, err := newProcess(ctx, dir, "nb", schema, extra)
	if err != nil {
		return nil, err
	}
	if err := p.tool("create", p.file(".db"), p.file(".ovsschema")); err != nil {
		return nil, err
	}
	p.address = "unix:" + p.file(".sock")
	p.extra = append(p.extra, "--remote=punix:"+p.file(".sock"))
	return p, p.Start()
}

func newProcess(ctx context.Context, dir, name string, schema []byte, extra []string) (*Process, error) {
	p := &Process{ctx: ctx, dir: dir, name: name, extra: extra}
	var head struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(schema, &head); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	p.db = head.Name
	return p, os.WriteFile(p.file(".ovsschema"), schema, 0o600)
}

func (p *Process) file(suffix string) string { return filepath.Join(p.dir, p.name+suffix) }

// tool runs ovsdb-tool.
func (p *Process) tool(args ...string) error {
	program, err := find("ovsdb-tool")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(p.ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ovsdb-tool %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// Addr is the endpoint that clients connect to.
func (p *Process) Addr() string { return p.address }

// Log is the path of the server's log file.
func (p *Process) Log() string { return p.file(".log") }

// Start starts the server, also again on the same file after Stop or Kill, and waits until it serves the database.
func (p *Process) Start() error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.ready()
}

func (p *Process) launch() error {
	program, err := find("ovsdb-server")
	if err != nil {
		return err
	}
	args := append([]string{
		p.file(".db"), "--no-chdir", "--unixctl=" + p.file(".ctl"), "--log-file=" + p.Log(),
		"--verbose=file:info", "--verbose=console:off", "--verbose=syslog:off",
	}, p.extra...)
	p.cmd = exec.CommandContext(p.ctx, program, args...)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start ovsdb-server: %w", err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		_ = cmd.Wait() // end reports how it ended
	}(p.cmd, p.ended)
	return nil
}

// ready waits until the database can be used, which for a member of a cluster means that it has joined and has a leader.
func (p *Process) ready() error {
	for {
		state, err := p.State(p.ctx)
		if err == nil && state.Connected {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond): // pause: between two looks
		case <-p.ended:
			text, _ := os.ReadFile(p.Log()) // without the log, the message still reports that the server ended
			return fmt.Errorf("ovsdb-server ended: %s", lastLine(text))
		case <-p.ctx.Done():
			return errors.Join(fmt.Errorf("wait for ovsdb-server: %w", p.ctx.Err()), err)
		}
	}
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// State is what a server reports about its database.
type State struct {
	Connected bool // it can be read
	Leader    bool // of its cluster; a standalone server leads
}

// State asks the server for its state. It waits for a hung server until ctx ends.
func (p *Process) State(ctx context.Context) (State, error) {
	raw, err := DialRaw(ctx, p.address, "_Server")
	if err != nil {
		return State{}, err
	}
	defer func() { _ = raw.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	rows, err := raw.Select("Database", nil, "name", "connected", "leader")
	if err != nil {
		return State{}, err
	}
	for _, row := range rows {
		if row["name"] == p.db {
			connected, _ := row["connected"].(bool)
			leader, _ := row["leader"].(bool)
			return State{Connected: connected, Leader: leader}, nil
		}
	}
	return State{}, fmt.Errorf("ovsdb-server at %s has no database %s", p.address, p.db)
}

// PID is the server's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// RSS is the resident memory of the server, in bytes; 0 if it is unknown.
func (p *Process) RSS() int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID()), "statm"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// Stop sends SIGTERM to the server, and waits for its end.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

// Kill sends SIGKILL to the server, and waits for its end.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

func (p *Process) end(signal syscall.Signal) error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("end ovsdb-server: %w", err)
	}
	<-p.ended
	return nil
}

// Hang suspends the server while the kernel still accepts connections for it.
func (p *Process) Hang() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends Hang.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
