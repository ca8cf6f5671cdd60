package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
)

// ApprovePath is where it is listed what is kept, and where its removal is approved.
const ApprovePath = "/debug/approve"

// Kept is what is in force although it is missing from the source, and the digest that approves its removal.
type Kept struct {
	Digest  string       `json:"digest"` // "" when nothing is kept
	Objects []KeptObject `json:"objects"`
}

// KeptObject is an object that is kept.
type KeptObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Target is where its rows are kept that were there when netloom began; "" for an object that netloom itself remembers.
	Target string `json:"target,omitempty"`
}

func (k KeptObject) ref() object.Ref {
	return object.Ref{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

// String spells k for people.
func (k KeptObject) String() string {
	if k.Target == "" {
		return k.ref().Path()
	}
	return k.ref().Path() + " in " + k.Target
}

// compare orders objects by target, kind, namespace and name.
func (k KeptObject) compare(o KeptObject) int {
	return cmp.Or(strings.Compare(k.Target, o.Target), k.ref().Compare(o.ref()))
}

// NewKept lists objects with their digest: two lists of the same objects have the same.
func NewKept(objects []KeptObject) Kept {
	if len(objects) == 0 {
		return Kept{Objects: []KeptObject{}}
	}
	lines := make([]string, len(objects))
	for i, k := range objects {
		lines[i] = k.String()
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return Kept{Digest: hex.EncodeToString(sum[:6]), Objects: objects}
}

// KeptOf lists what is kept in a target.
func KeptOf(target string, refs []object.Ref) []KeptObject {
	out := make([]KeptObject, len(refs))
	for i, ref := range refs {
		out[i] = KeptObject{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Target: target}
	}
	return out
}

// kept lists what is kept now.
func (d *Daemon) kept() Kept {
	var all []KeptObject
	for _, k := range d.pipeline.Kept() {
		all = append(all, KeptOf("", []object.Ref{k.Ref})...)
	}
	return NewKept(append(all, d.keptInTargets()...))
}

// byKind counts objects that are kept.
func (k Kept) byKind() map[string]int {
	out := map[string]int{}
	for _, o := range k.Objects {
		out[o.Kind]++
	}
	return out
}

// degraded says in a line that objects are kept, and how to end that.
func (k Kept) degraded() []string {
	if k.Digest == "" {
		return nil
	}
	return []string{fmt.Sprintf("degraded: %s are missing from the source and kept in force; netloom approve lists them, "+
		"netloom approve %s removes them", k.counts(), k.Digest)}
}

// counts says how many objects of which kinds k has, "" for none.
func (k Kept) counts() string {
	counts := k.byKind()
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		what := kind + " objects"
		if kind == backends.KindPort {
			what = "isolated logical ports"
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], what))
	}
	return strings.Join(parts, ", ")
}

// approve takes a digest for the consent that what is kept now is removed.
func (d *Daemon) approve(digest, by string) (Kept, error) {
	now := d.kept()
	switch {
	case now.Digest == "":
		return now, fmt.Errorf("%s: nothing is kept", digest)
	case digest != now.Digest:
		return now, fmt.Errorf("%s: other objects are kept by now, %d of them: look at them, then approve %s",
			digest, len(now.Objects), now.Digest)
	}
	var remembered []object.Ref
	inTarget := map[string][]object.Ref{}
	for _, k := range now.Objects {
		if k.Target == "" {
			remembered = append(remembered, k.ref())
		} else {
			inTarget[k.Target] = append(inTarget[k.Target], k.ref())
		}
		d.log.WithFields(logrus.Fields{"object": k.String(), "digest": digest, "by": by}).Warn("the removal of a missing object is approved")
	}
	if len(remembered) > 0 {
		d.pipeline.Approve(remembered)
	}
	for _, t := range d.targets {
		t.loop.Release(inTarget[t.Name])
	}
	if d.sdwan != nil {
		d.sdwan.cnfs.Release(inTarget)
	}
	return now, nil
}

// listKept answers with what is kept.
func (d *Daemon) listKept(w http.ResponseWriter, _ *http.Request) { writeKept(w, d.kept()) }

func writeKept(w http.ResponseWriter, k Kept) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(k)
}

// approveKept approves the digest of a request. Only somebody on the same machine, or in the same pod, may do so, and no web
// page that a browser there shows; or whoever the Kubernetes API lets member to this path.
func (d *Daemon) approveKept(w http.ResponseWriter, r *http.Request) {
	if judged := d.opts.Serving.Kubernetes && !isLoopback(r); !judged && !isLocal(r) {
		http.Error(w, "only the machine, or the pod, that netloom runs on may approve: use kubectl exec", http.StatusForbidden)
		return
	}
	approved, err := d.approve(r.URL.Query().Get("digest"), r.RemoteAddr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	writeKept(w, approved)
}

// isLoopback says whether a request came from this machine. Others had to show who sends them, where that is asked for.
func isLoopback(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// isLocal says whether a request was made on this machine, and by no web page.
func isLocal(r *http.Request) bool {
	for _, header := range []string{"Origin", "Referer", "Sec-Fetch-Site"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	if !isLoopback(r) {
		return false
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	to, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && to.IsLoopback()
}
