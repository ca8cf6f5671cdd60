package serve

import "k8s.io/client-go/rest"

// Reviewing returns the configuration for reviews of requests.
func Reviewing(of *rest.Config) *rest.Config { return reviewing(of) }
