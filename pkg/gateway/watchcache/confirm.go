package watchcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/confirm"
)

// confirmed follows k, so that its history is compared with the upstream again and again: a watch may lack events without any sign of it.
func (k *kind) confirmed(api *confirm.API) *confirm.Kind {
	return api.FollowReader(k.GroupResource().String(), confirm.Reader{List: k.compare, Version: k.highest, Reread: k.expire})
}

// compare lists a page of what the upstream has now. Of each object it returns the name and the version.
func (k *kind) compare(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	if _, _, synced := k.now(); !synced {
		return nil, errors.New("nothing is held")
	}
	parameters := url.Values{"limit": {strconv.FormatInt(opts.Limit, 10)}}
	if opts.Continue != "" {
		parameters.Set("continue", opts.Continue)
	}
	p, err := k.upstream.page(ctx, pageTimeout, parameters)
	if errors.Is(err, errExpired) {
		return nil, apierrors.NewResourceExpired(err.Error())
	} else if err != nil {
		return nil, err
	}
	out := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{
		ResourceVersion: p.Metadata.ResourceVersion, Continue: p.Metadata.Continue, RemainingItemCount: p.Metadata.RemainingItemCount,
	}}
	for _, raw := range p.Items {
		var o struct {
			Metadata struct{ Namespace, Name, ResourceVersion string }
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, fmt.Errorf("list %s: %w", k.Resource.Resource, err)
		}
		out.Items = append(out.Items, partial(o.Metadata.Namespace, o.Metadata.Name, o.Metadata.ResourceVersion))
	}
	return out, nil
}

// partial is an object as far as it is compared: its version says which object of a name it is.
func partial(namespace, name, version string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}}
}

// highest is how far the history has come; "" if there is none.
func (k *kind) highest() string {
	if _, version, synced := k.now(); synced {
		return strconv.FormatUint(version, 10)
	}
	return ""
}

// expire drops the history, which differs from what the upstream has, and lists the kind again.
func (k *kind) expire(why string) {
	k.mu.Lock()
	end := k.endWatch
	k.mu.Unlock()
	if end != nil {
		end(fmt.Errorf("%s: %w: %s", k.Resource.Resource, errExpired, why))
	}
}

// ListKeys implements confirm.Held.
func (k *kind) ListKeys() []string {
	state, _, _ := k.now()
	keys := make([]string, 0, state.Len())
	state.Root().Walk(func(key []byte, _ *object) bool {
		keys = append(keys, string(key))
		return false
	})
	return keys
}

// GetByKey implements confirm.Held.
func (k *kind) GetByKey(key string) (any, bool, error) {
	state, _, _ := k.now()
	o, ok := state.Get([]byte(key))
	if !ok {
		return nil, false, nil
	}
	p := partial(o.namespace, o.name, strconv.FormatUint(o.version, 10))
	return &p, true, nil
}

// unconfirmed returns for how long the history should have been confirmed but was not.
func (k *kind) unconfirmed() time.Duration {
	since := k.heldSince.Load()
	if since == nil {
		return 0
	}
	p := k.proof.Proof()
	from := *since
	if p.Confirmed.After(from) {
		from = p.Confirmed
	}
	return max(0, time.Since(from)-p.Late)
}
