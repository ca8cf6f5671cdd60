package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/retention"
)

// ApprovePath is where it is listed what is kept, and where its removal is approved.
const ApprovePath = "/debug/approve"

// kept lists what is kept now.
func (d *Daemon) kept() retention.Kept {
	var all []retention.KeptObject
	for _, k := range d.pipeline.Kept() {
		all = append(all, retention.KeptIn("", []object.Ref{k.Ref})...)
	}
	return retention.NewKept(append(all, d.keptInTargets()...))
}

// approve takes a digest for the consent that what is kept now is removed.
func (d *Daemon) approve(digest, by string) (retention.Kept, error) {
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
			remembered = append(remembered, k.Ref())
		} else {
			inTarget[k.Target] = append(inTarget[k.Target], k.Ref())
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
		d.sdwan.Release(inTarget)
	}
	return now, nil
}

// listKept answers with what is kept.
func (d *Daemon) listKept(w http.ResponseWriter, _ *http.Request) { writeKept(w, d.kept()) }

func writeKept(w http.ResponseWriter, k retention.Kept) {
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
