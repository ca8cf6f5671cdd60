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
	// Together makes calls at once, each of which sends one request, and returns when all have returned.
	Together(calls ...func())
}

// ErrDraft is the error of a plan for a controller that stores changes of policies as drafts: nothing would be enforced.
var ErrDraft = errors.New("security policy draft mode is on (enable_security_policy_draft): nothing that is written would be enforced")

// unreachable marks errors that concern the connection rather than a request.
func unreachable(err error) error {
	var status *tungsten.StatusError
	if errors.As(err, &status) && !tungsten.IsUnavailable(err) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", backends.ErrUnreachable, err)
}
