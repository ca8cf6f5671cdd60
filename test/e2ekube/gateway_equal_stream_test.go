//go:build e2e

package e2ekube_test

import (
	"bufio"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// streams uses a stand-in for a kubelet that serves with the library of container runtimes.
func (e *equal) streams() {
	adoptShell(e.t, e.kube)
	for i, l := range e.legs {
		n := testStreams(e.t, rest.CopyConfig(l.config), e.web)
		if i == 0 {
			e.row().answers += n
		}
	}
	e.logs()
	const pod = "/api/v1/namespaces/default/pods/shell"
	e.compare(
		exchange{path: pod + "/exec", query: "command=cat&stdin=1"}, // no upgrade
		exchange{path: pod + "/exec", query: "command=cat&stdin=1&container=none"},
		exchange{path: pod + "/exec", query: "stdin=1"},
		exchange{path: pod + "/attach"}, exchange{path: pod + "/portforward"}, exchange{method: http.MethodPost, path: pod + "/portforward"},
		exchange{path: "/api/v1/namespaces/default/pods/none/exec", query: "command=cat"},
		exchange{path: pod + "/log", query: "container=none"}, exchange{path: pod + "/log", query: "tailLines=-1"},
		exchange{path: pod + "/proxy/"}, exchange{path: "/api/v1/nodes/n1/proxy/none"},
	)
}

// logs reads a log, and follows one line by line.
func (e *equal) logs() {
	const text = "one\ntwo\n\x00\xff\n"
	for i, l := range e.legs {
		name := "logs-" + l.namespace
		e.kube.Apply("{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: [{name: c, image: i}]}}")
		pod, err := e.kube.Client().CoreV1().Pods("default").Get(e.t.Context(), name, metav1.GetOptions{})
		require.NoError(e.t, err)
		follow := make(chan string)
		e.kube.StartKubelet("logs-"+l.namespace).Adopt(pod, kubelab.Container{Log: text, Follow: follow})
		raw, err := l.client.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(e.t.Context())
		require.NoError(e.t, err, l.name)
		require.Equal(e.t, text, string(raw), l.name)
		stream, err := l.client.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{Follow: true}).Stream(e.t.Context())
		require.NoError(e.t, err, l.name)
		lines := bufio.NewReader(stream)
		for n := range strings.Count(text, "\n") + 3 {
			if n >= 3 {
				follow <- "more\n" // and not before the client has what comes before
			}
			_, err := lines.ReadString('\n')
			require.NoError(e.t, err, l.name)
		}
		close(follow)
		_, err = lines.ReadString('\n')
		require.ErrorContains(e.t, err, "EOF", l.name)
		require.NoError(e.t, stream.Close())
		if i == 0 {
			e.row().answers += 2
		}
	}
}
