package confirm

import (
	"context"
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// state is a state of an object. The zero value means that there is none.
type state struct {
	uid     types.UID
	version string
}

// page is a part of the objects of a kind as the API listed them: those whose keys come after one key and, unless it is the
// last page, not after another. The keys of objects are their names with their namespaces.
type page struct {
	version     string // of the list
	after, upTo string // "" has no limit
	objects     map[string]state
	fresh       bool   // what the API has now; otherwise, what it had when the first page was read
	total       int    // all objects of the kind; -1 is unknown
	token       string // of the next page; "" if this is the last
}

// differences compares a page with the objects held; holds lists the keys, and hold returns the state of one of them. Objects that a page
// that is not fresh does not have yet, or no longer has, are left alone.
func (p *page) differences(holds []string, hold func(key string) state) map[string]difference {
	out := map[string]difference{}
	for key, there := range p.objects {
		held := hold(key)
		if held != there && (p.fresh || held != state{} && !later(held.version, p.version)) {
			out[key] = difference{there, held}
		}
	}
	for _, key := range holds {
		if key <= p.after || p.upTo != "" && key > p.upTo {
			continue
		}
		if _, there := p.objects[key]; there {
			continue
		}
		held := hold(key)
		if (held != state{}) && (p.fresh || !later(held.version, p.version)) {
			out[key] = difference{held: held}
		}
	}
	return out
}

// pages reads what the API has now: the first page, or only its version if another one is to be compared, and the page to be
// compared.
func (k *Kind) pages(ctx context.Context) (fresh, part *page, err error) {
	if k.next == "" {
		k.after = ""
		fresh, err = k.read(ctx, "", pageSize)
		return fresh, fresh, err
	}
	if fresh, err = k.read(ctx, "", 1); err != nil {
		return nil, nil, err
	}
	part, err = k.read(ctx, k.next, pageSize)
	if status := new(apierrors.StatusError); errors.As(err, &status) && apierrors.IsResourceExpired(err) {
		// The API no longer has the state in which the first page was read, and offers to continue with the current one.
		if k.next = status.ErrStatus.Continue; k.next == "" {
			return fresh, &page{version: fresh.version, after: k.after, upTo: k.after}, nil
		}
		if part, err = k.read(ctx, k.next, pageSize); err == nil {
			part.fresh = true
		}
	}
	return fresh, part, err
}

// read reads a page of up to limit objects, the first one if token is "". If objects are large, the API divides it into several, of
// which up to mostReads are read.
func (k *Kind) read(ctx context.Context, token string, limit int64) (*page, error) {
	out, err := k.readOnce(ctx, token, limit)
	for reads := 1; err == nil && out.token != "" && reads < mostReads && int64(len(out.objects)) < limit; reads++ {
		more, err := k.readOnce(ctx, out.token, limit-int64(len(out.objects)))
		if apierrors.IsResourceExpired(err) {
			break // the next page begins there, and is treated like any that expired
		}
		if err != nil {
			return nil, err
		}
		out.add(more)
	}
	return out, err
}

// add adds the objects of the page that follows p.
func (p *page) add(next *page) {
	if p.total >= 0 && next.total >= 0 {
		p.total = len(p.objects) + next.total
	}
	maps.Copy(p.objects, next.objects)
	p.upTo, p.token = next.upTo, next.token
}

// readOnce reads what the API lists at once.
func (k *Kind) readOnce(ctx context.Context, token string, limit int64) (*page, error) {
	o, err := k.list(ctx, metav1.ListOptions{Limit: limit, Continue: token})
	if err != nil {
		return nil, err
	}
	list, err := meta.ListAccessor(o)
	if err != nil {
		return nil, err
	}
	out := &page{version: list.GetResourceVersion(), objects: map[string]state{}, fresh: token == "", token: list.GetContinue(), total: -1}
	if token != "" {
		out.after = k.after
	}
	err = meta.EachListItem(o, func(item runtime.Object) error {
		m, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		key := cache.MetaObjectToName(m).String()
		out.objects[key] = state{m.GetUID(), m.GetResourceVersion()}
		out.upTo = max(out.upTo, key)
		return nil
	})
	if remaining := list.GetRemainingItemCount(); out.token == "" {
		out.total, out.upTo = len(out.objects), ""
	} else if remaining != nil {
		out.total = len(out.objects) + int(*remaining)
	}
	return out, err
}
