package query_test

import (
	"fmt"
	"strings"
)

// oddPods are pods that policies see otherwise than others, on node n1.
const oddPods = `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: 172.18.0.1}, {type: Hostname, address: n1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: shop}
spec: {nodeName: n1, hostNetwork: true}
status: {podIP: 172.18.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: done, namespace: shop}
status: {phase: Succeeded, podIP: 10.0.0.9}
---
apiVersion: v1
kind: Pod
metadata: {name: pending, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: twin-a, namespace: shop, labels: {app: twin}}
spec: {nodeName: n1}
status: {podIP: 10.0.0.7}
---
apiVersion: v1
kind: Pod
metadata: {name: twin-b, namespace: shop}
status: {podIP: 10.0.0.7}
`

const denyAll = `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: shop}
spec: {podSelector: {matchLabels: {app: twin}}}
`

// dualPods are two pods of both families, and a policy that allows one of them.
const dualPods = `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: a}}
status: {podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop, labels: {app: b}}
status: {podIPs: [{ip: 10.0.0.2}, {ip: "fd00::2"}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: b, namespace: shop}
spec:
  podSelector: {matchLabels: {app: b}}
  ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]
`

// manyPods are n web servers in the shop.
func manyPods(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `
---
apiVersion: v1
kind: Pod
metadata: {name: web-%[1]d, namespace: shop, labels: {app: web}}
spec: {containers: [{name: web, image: web, ports: [{name: http, containerPort: 8080}]}]}
status: {podIP: 10.1.0.%[1]d}
`, i)
	}
	return b.String()
}
