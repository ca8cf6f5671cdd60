package answerstest

import (
	"fmt"
	"strings"
)

// OddPods are pods that policies see otherwise than others, on node n1.
const OddPods = `
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

// DenyAll isolates one of the pods that share an address.
const DenyAll = `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: shop}
spec: {podSelector: {matchLabels: {app: twin}}}
`

// DualPods are two pods of both families, and a policy that allows one of them.
const DualPods = `
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

// ManyPods are n web servers in the shop.
func ManyPods(n int) string {
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

// Shop is a web server that may reach one of the two pods behind a service, and services without endpoints.
const Shop = `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: 172.18.0.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {addresses: [{type: InternalIP, address: 172.18.0.2}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {nodeName: n1}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
spec: {nodeName: n1}
status: {podIP: 10.0.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: db-1, namespace: shop, labels: {app: db, locked: "yes"}}
spec: {nodeName: n2}
status: {podIP: 10.0.0.3}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec:
  type: NodePort
  externalTrafficPolicy: Local
  clusterIP: 10.96.0.10
  ports: [{name: sql, port: 5432, targetPort: 15432, nodePort: 30432}, {name: admin, port: 8080, nodePort: 30080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{name: sql, port: 15432}]
endpoints:
- {addresses: [10.0.0.2], nodeName: n1}
- {addresses: [10.0.0.3], nodeName: n2}
---
apiVersion: v1
kind: Service
metadata: {name: empty, namespace: shop}
spec:
  clusterIP: 10.96.0.11
  ports: [{port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: headless, namespace: shop}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: locked, namespace: shop}
spec: {podSelector: {matchLabels: {locked: "yes"}}}
`
