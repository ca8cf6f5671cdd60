package live

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/translator"
)

const (
	flowWindow = time.Hour       // how far back flows are counted
	guideGap   = time.Second     // between two indexes of pods and policies, or more:
	guideShare = 20              // as many times as long as one takes
	logRetry   = 5 * time.Second // until a log that cannot be read is tried again
)

// Logs are the ACL logs that a page follows. The zero value is none.
type Logs struct {
	Paths []string
	// Rules are those that the names of ACLs stand for.
	Rules func(*intent.Snapshot) map[string][]intent.RuleRef
	// Differs is called for each flow that a staged policy would decide differently, when it is first seen, with what was seen for that
	// policy so far; nil calls nothing. Several goroutines call it.
	Differs func(flows.Difference, flows.Tried)
}

// follower counts the lines of ACL logs. The pods and policies of a line are those of the newest state when it is read.
type follower struct {
	logs        Logs
	newest      func() (web.State, bool)
	translation translator.Options // of states with staged policies in force
	recorder    *flows.Recorder
	trial       *flows.Trial

	mu       sync.Mutex
	number   uint64    // of the state that the guide is of
	earliest time.Time // when the next guide may be made
	faults   []error   // by path: why it cannot be read
}

func newFollower(logs Logs, newest func() (web.State, bool), translation translator.Options) *follower {
	empty := world.New(world.State{Snapshot: intent.NewSnapshot()})
	return &follower{
		logs: logs, newest: newest, translation: translation, recorder: flows.NewRecorder(flows.NewGuide(empty, nil), flowWindow),
		trial: flows.NewTrial(flows.NewJudge(empty, nil)), faults: make([]error, len(logs.Paths)),
	}
}

// run follows the logs until ctx ends. A log that cannot be read is tried again: nothing else depends on it.
func (f *follower) run(ctx context.Context, log logrus.FieldLogger) {
	var following sync.WaitGroup
	for i := range f.logs.Paths {
		following.Go(func() { f.follow(ctx, i, log) })
	}
	following.Wait()
}

func (f *follower) follow(ctx context.Context, i int, log logrus.FieldLogger) {
	path, said := f.logs.Paths[i], ""
	for ctx.Err() == nil {
		f.failed(i, nil)
		err := acllog.Follow(ctx, path, f.line)
		if err == nil {
			return
		}
		f.failed(i, err)
		if err.Error() != said {
			said = err.Error()
			log.WithError(err).WithField("path", path).Warn("the ACL log cannot be read; the web page lacks its connections")
		}
		select {
		case <-ctx.Done():
		case <-time.After(logRetry):
		}
	}
}

// failed records why a log cannot be read now; nil means that it can.
func (f *follower) failed(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[i] = err
}

func (f *follower) line(line []byte) {
	now := time.Now()
	if !acllog.Is(line) {
		return
	}
	f.guide(now)
	f.recorder.Line(line, now)
	for _, d := range f.trial.Line(line, now) {
		if f.logs.Differs != nil {
			f.logs.Differs(d, f.trial.Of(d.Policy))
		}
	}
}

// guide makes lines be read with the newest state. Indexing a large cluster takes a while: a constantly changing state is not indexed for
// every line.
func (f *follower) guide(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.earliest) {
		return
	}
	state, ok := f.newest()
	if !ok || state.Number == f.number {
		return
	}
	rules, inventory := f.logs.Rules(state.Snapshot), world.New(state.WithStaged(f.translation))
	f.recorder.Use(flows.NewGuide(inventory, rules))
	f.trial.Use(flows.NewJudge(inventory, rules))
	f.number = state.Number
	f.earliest = time.Now().Add(max(guideGap, guideShare*time.Since(now)))
}

// report is what the logs say by now.
func (f *follower) report() web.FlowLog {
	now := time.Now()
	out := web.FlowLog{Window: flowWindow, Report: f.recorder.Report(now), History: f.recorder.History(now), Staged: f.trial.Report()}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, path := range f.logs.Paths {
		file := web.LogFile{Path: path}
		if err := f.faults[i]; err != nil {
			file.Error = err.Error()
		} else if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			file.Error = "there is no such file yet"
		} else if err != nil {
			file.Error = err.Error()
		}
		out.Logs = append(out.Logs, file)
	}
	return out
}
