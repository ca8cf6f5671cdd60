package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/serve/httpbody"
)

// maxFlows is how many flows are listed.
const maxFlows = 200

// FlowLog is what ACL logs say about connections.
type FlowLog struct {
	Logs   []LogFile
	Window time.Duration // how far back flows are counted
	flows.Report

	History flows.History
	Staged  []flows.Tried // what staged policies would decide differently
}

// LogFile is an ACL log that is followed.
type LogFile struct {
	Path  string `json:"path"`
	Error string `json:"error,omitempty"` // why it is not read now
}

// Flows lists the connections found in ACL logs: denied ones first, then by how often they were seen.
type Flows struct {
	Logs    []LogFile                `json:"logs"` // none if no log is followed
	Seconds int                      `json:"windowSeconds,omitempty"`
	Until   time.Time                `json:"until,omitzero"` // the newest line
	Flows   []flows.Described        `json:"flows"`
	Staged  []StagedLine             `json:"staged,omitempty"` // what staged policies would decide differently
	More    int                      `json:"moreFlows,omitempty"`
	Counts  map[flows.Verdict]uint64 `json:"counts"`          // lines of the flows that are listed or left out
	Other   map[flows.Verdict]uint64 `json:"other,omitempty"` // lines of flows that are not told apart, because there are too many
}

// StagedLine is what was seen of the connections that a staged policy is about.
type StagedLine struct {
	flows.Tried

	Summary string `json:"summary"`
}

// maxTriedFlows is how many flows are listed for each staged policy.
const maxTriedFlows = 20

func stagedLines(tried []flows.Tried) []StagedLine {
	var out []StagedLine
	for _, t := range tried {
		line := StagedLine{Tried: t, Summary: t.Since()}
		line.Flows, _ = cut(t.Flows, maxTriedFlows)
		out = append(out, line)
	}
	return out
}

// flows lists the observed connections.
func (h *Handler) flows(w http.ResponseWriter, r *http.Request) {
	h.fromLogs(w, r, func(b *board, log FlowLog) (any, error) { return describeFlows(r.URL.Query(), log, b.inventory()) })
}

// fromLogs responds with what ACL logs say. The response is recomputed at most once a second: log lines, unlike states, have no number by
// which it could be cached.
func (h *Handler) fromLogs(w http.ResponseWriter, r *http.Request, answer func(*board, FlowLog) (any, error)) {
	state, ok := h.opts.Source.Newest()
	if !ok {
		fail(w, r, errNotSynced)
		return
	}
	w.Header().Set("Content-Type", jsonContent)
	key := httpbody.Key{Name: r.URL.RequestURI(), Number: uint64(max(0, time.Now().Unix()))}
	err := h.bodies.Serve(w, r, key, func(out io.Writer) error {
		found, err := answer(h.newest.board(state), h.opts.Source.Flows())
		if err != nil {
			return err
		}
		return encode(out, found)
	})
	if err != nil {
		fail(w, r, err)
	}
}

// describeFlows selects flows by their verdict and by a text in their names.
func describeFlows(q url.Values, log FlowLog, inv *world.World) (*Flows, error) {
	verdict, text := flows.Verdict(q.Get("verdict")), strings.ToLower(strings.TrimSpace(q.Get("q")))
	switch verdict {
	case "", flows.Denied, flows.Allowed:
	default:
		return nil, fmt.Errorf("verdict: %q: expected denied or allowed", verdict)
	}
	out := &Flows{
		Logs: append([]LogFile{}, log.Logs...), Seconds: int(log.Window.Seconds()), Until: log.Until,
		Counts: map[flows.Verdict]uint64{}, Other: log.Other, Staged: stagedLines(log.Staged),
	}
	found := slices.DeleteFunc(log.Flows, func(f flows.Flow) bool {
		names := strings.ToLower(strings.Join([]string{f.From, f.To, f.Port, f.Policy, f.ACL}, " "))
		return verdict != "" && f.Verdict != verdict || !strings.Contains(names, text)
	})
	for i := range found {
		out.Counts[found[i].Verdict] += found[i].Count
	}
	slices.SortStableFunc(found, func(a, b flows.Flow) int { return rankOf(a.Verdict) - rankOf(b.Verdict) })
	found, out.More = cut(found, maxFlows)
	out.Flows = flows.Describe(found, probe.Asker(inv))
	return out, nil
}

func rankOf(v flows.Verdict) int {
	if v == flows.Denied {
		return 0
	}
	return 1
}

// questionOf reads a question about connections from the parameters of a request.
func questionOf(q url.Values) (question.Question, error) {
	from, to, port := strings.TrimSpace(q.Get("from")), strings.TrimSpace(q.Get("to")), strings.TrimSpace(q.Get("port"))
	if from == "" || to == "" {
		return question.Question{}, errors.New("from and to: expected a pod such as shop/web-0, a service such as svc/shop/web:80, node/NAME or an address")
	}
	question, err := question.Parse(from + "->" + to)
	if err == nil && port != "" {
		question.Port = port
	}
	return question, err
}
