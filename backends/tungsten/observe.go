package tungsten

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/tungsten"
)

// API is what a backend needs of the client of a controller.
type API interface {
	List(ctx context.Context, kind tungsten.Kind, q tungsten.Query) ([]*tungsten.Object, error)
	Create(ctx context.Context, o *tungsten.Object) (uuid string, err error)
	Update(ctx context.Context, kind tungsten.Kind, uuid string, fields tungsten.Fields) error
	Delete(ctx context.Context, kind tungsten.Kind, uuid string) error
	AddRef(ctx context.Context, l tungsten.Link) error
	RemoveRef(ctx context.Context, l tungsten.Link) error
}

// ErrDraft is the error of a plan for a controller that stores changes of policies as drafts: nothing would be enforced.
var ErrDraft = errors.New("security policy draft mode is on (enable_security_policy_draft): nothing that is written would be enforced")

// kinds lists the kinds of objects that the backend writes, referents first.
func kinds() []tungsten.Kind {
	return []tungsten.Kind{
		tungsten.KindTag, tungsten.KindAddressGroup, tungsten.KindFirewallRule, tungsten.KindFirewallPolicy,
		tungsten.KindApplicationPolicySet,
	}
}

// observe reads what the owner has, and the interfaces of pods. A fault makes it fail as a whole: what is missing from an
// incomplete list would look like something to sweep or to create.
func observe(ctx context.Context, api API, names namer, clusters map[string]string) (map[string]*tungsten.Object, *ports, error) {
	config, err := api.List(ctx, tungsten.KindGlobalSystemConfig, tungsten.Query{Fields: []string{"enable_security_policy_draft"}})
	if err != nil {
		return nil, nil, unreachable(err)
	}
	for _, c := range config {
		if c.SecurityPolicyDraft {
			return nil, nil, ErrDraft
		}
	}
	owned := map[string]*tungsten.Object{}
	for _, kind := range kinds() {
		all, err := api.List(ctx, kind, tungsten.Query{Detail: true})
		if err != nil {
			return nil, nil, unreachable(err)
		}
		for _, o := range all {
			if names.owns(o) {
				owned[o.UUID] = o
			}
		}
	}
	found := newPorts()
	all, err := api.List(ctx, tungsten.KindInterface, tungsten.Query{Fields: portFields()})
	if err != nil {
		return nil, nil, unreachable(err)
	}
	for _, o := range all {
		if p := portOf(names, clusters, o); p != nil {
			found.put(p)
		}
	}
	return owned, found, nil
}

// unreachable marks errors that concern the connection rather than a request.
func unreachable(err error) error {
	var status *tungsten.StatusError
	if errors.As(err, &status) && !tungsten.IsUnavailable(err) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", backends.ErrUnreachable, err)
}
