package openwrt

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Action is an action on a service.
type Action string

// The actions on a service. Reloading mwan3 or ipsec restarts it; reloading the firewall keeps connections.
const (
	Start   Action = "start"
	Stop    Action = "stop"
	Restart Action = "restart"
	Reload  Action = "reload"
)

// ReloadPause is how long a service should be left alone after a reload: tunnels and sessions need that long to come back. The device itself
// would restart ipsec as often as it is asked to.
const ReloadPause = 5 * time.Second

// Services lists the services that have actions.
func (c *Client) Services(ctx context.Context) ([]string, error) {
	const path = "sdewan/v1/services"
	a, err := c.call(ctx, request{method: http.MethodGet, path: path, limit: c.opts.MaxAnswer}, c.opts.Timeout, nil)
	if err != nil {
		return nil, err
	}
	var answer struct{ Services []string }
	if json.Unmarshal(a.body, &answer) != nil {
		return nil, fmt.Errorf("GET %s: %w", path, ErrUnexpected)
	}
	return answer.Services, nil
}

// Act runs an action on a service, such as Reload on firewall, so that its configuration takes effect. The device waits
// for it, and does not report whether it succeeded.
func (c *Client) Act(ctx context.Context, service string, a Action) error {
	if !isSectionName(service) || !slices.Contains([]Action{Start, Stop, Restart, Reload}, a) {
		return fmt.Errorf("service %q: action %q: no such service or action", service, string(a))
	}
	_, err := c.call(ctx, request{
		method: http.MethodPut, path: "sdewan/v1/service/" + service, body: []byte(`{"action":"` + string(a) + `"}`),
		kind: "application/json", limit: c.opts.MaxAnswer,
	}, c.opts.ServiceTimeout, nil)
	return err
}
