package arch

// module is the prefix of the module's own import paths; the table leaves it out.
const module = "github.com/netloom/netloom/"

// Libraries that several rooms share.
const (
	logrus = "github.com/sirupsen/logrus"
	// policyAPI is the API of cluster-wide policies.
	policyAPI = "sigs.k8s.io/network-policy-api/apis/..."
	// servicesAPI is the Multi-Cluster Services API.
	servicesAPI = "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	libovsdb    = "github.com/ovn-kubernetes/libovsdb/ovsdb"
	uuid        = "github.com/google/uuid"
	testify     = "github.com/stretchr/testify/..."
	yaml        = "sigs.k8s.io/yaml"
)

// everything is the list of a room that may import whatever the doors allow.
var everything = []string{"..."}

// room is one row of the table: a directory and what its files may import beyond the standard library.
//
// Paths of this module are written without its prefix. "x/..." is x and all below it.
type room struct {
	dir   string   // the room; "x/..." is x with all below it that has no row of its own
	may   []string // what files other than tests may import
	tests []string // what tests may import in addition; nil lets them import anything
	pure  bool     // no clock, input or output, log, randomness or goroutine
}

// rooms is the table. Each file is checked against the row with the longest matching directory.
var rooms = []room{
	{dir: "cmd/netloom", may: everything},
	{dir: "examples"},
	{dir: "deploy/examples/clusters"},
	{dir: "deploy/examples/sdwan"},

	{dir: "pkg/object", pure: true},
	{dir: "pkg/intent", pure: true, may: []string{"pkg/object", "github.com/hashicorp/go-immutable-radix/v2"}},
	{dir: "labelcache", pure: true, may: []string{
		"pkg/object", "k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/selection",
	}},
	{dir: "translator", pure: true, may: []string{
		"labelcache", "pkg/intent", "pkg/object", "pkg/object/address", "pkg/apis/...", "translator/...", "k8s.io/api/...", "k8s.io/apimachinery/...",
		policyAPI, servicesAPI,
	}},
	{dir: "translator/host", pure: true},
	{dir: "translator/budget", pure: true, may: []string{
		"pkg/object", "translator/owner", "github.com/google/btree", "k8s.io/apimachinery/...",
	}},
	{dir: "translator/dirty", pure: true, may: []string{"pkg/object"}},
	{dir: "translator/field", pure: true, may: []string{
		"pkg/intent", "pkg/object", "pkg/apis/...", "k8s.io/api/...", "k8s.io/apimachinery/...",
	}},
	{dir: "translator/owner", pure: true, may: []string{"k8s.io/apimachinery/..."}},
	{dir: "translator/sets", pure: true, may: []string{"labelcache", "pkg/intent", "pkg/object", "translator/dirty", "translator/host"}},
	{dir: "translator/policy", pure: true, may: []string{
		"labelcache", "pkg/apis/ovnkubernetes/v1", "pkg/intent", "pkg/object", "pkg/object/address", "translator/budget", "translator/dirty", "translator/field",
		"translator/host", "translator/owner", "translator/sets", "github.com/google/btree", "k8s.io/api/...", "k8s.io/apimachinery/...",
		policyAPI,
	}},
	{dir: "translator/service", pure: true, may: []string{
		"pkg/intent", "pkg/object", "pkg/object/address", "translator/budget", "translator/dirty", "translator/field", "translator/owner",
		"github.com/google/btree", "k8s.io/api/...", "k8s.io/apimachinery/...", servicesAPI,
	}},
	{dir: "translator/sdwan", pure: true, may: []string{
		"labelcache", "pkg/intent", "pkg/object", "pkg/object/address", "pkg/apis/...", "translator/dirty", "translator/field", "translator/host",
		"translator/owner", "translator/sets", "k8s.io/api/...", "k8s.io/apimachinery/...",
	}},

	{dir: "backends", may: []string{"pkg/intent", "pkg/object", "github.com/hashicorp/go-immutable-radix/v2"}},
	{dir: "backends/backendtest", may: []string{"backends", "pkg/intent", "pkg/object", "test/await", "test/seeds", testify}},
	{dir: "backends/builtin", may: []string{
		"backends/...", "pkg/intent", "pkg/ovsdb", "pkg/ovsdb/schema", "pkg/openwrt", "pkg/config/setting", "pkg/tungsten", logrus,
	}},
	{dir: "backends/memory", may: []string{"backends", "pkg/intent", "pkg/object"}},
	{dir: "backends/memory/memorytest", may: []string{"backends", "backends/backendtest", "backends/memory", "pkg/intent"}},
	{dir: "backends/ovn", may: []string{
		"backends", "backends/ovn/internal/...", "pkg/intent", "pkg/object", "pkg/ovsdb", "pkg/config/setting", libovsdb, logrus,
		"github.com/hashicorp/go-immutable-radix/v2",
	}},
	{dir: "backends/ovn/internal/lb", pure: true, may: []string{"backends", "backends/ovn/internal/nb", "pkg/intent", "pkg/ovsdb"}},
	{dir: "backends/ovn/internal/nb", pure: true, may: []string{"backends", "pkg/intent", "pkg/ovsdb", libovsdb, uuid}},
	{dir: "backends/ovn/ovntest", may: []string{
		"backends", "backends/backendtest", "backends/ovn", "pkg/intent", "pkg/object", "pkg/ovsdb/...", "pkg/simulator/ovn", "test/await", libovsdb, uuid, testify,
	}},
	{dir: "backends/openwrt", may: []string{
		"backends", "backends/openwrt/internal/...", "pkg/intent", "pkg/object", "pkg/openwrt", logrus,
	}},
	{dir: "backends/openwrt/internal/compare", pure: true, may: []string{
		"backends", "backends/openwrt/internal/device", "backends/openwrt/internal/kernel", "backends/openwrt/internal/render", "backends/openwrt/internal/section",
		"pkg/object", "pkg/openwrt",
	}},
	{dir: "backends/openwrt/internal/device", pure: true, may: []string{
		"backends", "backends/openwrt/internal/kernel", "backends/openwrt/internal/firewall", "backends/openwrt/internal/render", "backends/openwrt/internal/section",
		"pkg/openwrt",
	}},
	{dir: "backends/openwrt/internal/kernel", pure: true, may: []string{"backends/openwrt/internal/section", "pkg/openwrt"}},
	{dir: "backends/openwrt/internal/firewall", pure: true, may: []string{"backends", "backends/openwrt/internal/section", "pkg/intent", "pkg/openwrt"}},
	{dir: "backends/openwrt/internal/render", pure: true, may: []string{
		"backends", "backends/openwrt/internal/kernel", "backends/openwrt/internal/firewall", "backends/openwrt/internal/section", "pkg/intent", "pkg/openwrt",
	}},
	{dir: "backends/openwrt/internal/section", pure: true, may: []string{"backends", "pkg/object", "pkg/openwrt"}},
	{dir: "backends/tungsten", may: []string{"backends", "pkg/intent", "pkg/object", "pkg/config/setting", "pkg/tungsten", uuid}},
	{dir: "backends/tungsten/tungstentest", may: []string{
		"backends", "backends/backendtest", "backends/tungsten", "pkg/intent", "pkg/object", "pkg/simulator/tungsten", "pkg/simulator/vrouter",
		"pkg/tungsten", uuid, testify,
	}},

	{dir: "pkg/cause"},
	{dir: "pkg/ovsdb/...", may: []string{"pkg/cause", "pkg/ovsdb/...", libovsdb, uuid, logrus}},
	{dir: "pkg/httpcall"},
	{dir: "pkg/openwrt", may: []string{"pkg/httpcall", logrus}},
	{dir: "pkg/tungsten", may: []string{"pkg/httpcall", uuid, logrus}},
	{dir: "pkg/simulator/ovn", may: []string{"pkg/cause", "pkg/ovsdb/...", libovsdb, uuid, logrus}},
	{dir: "pkg/simulator/openwrt", may: []string{"pkg/serve/authority"}},
	{dir: "pkg/simulator/kubeapi", may: []string{"k8s.io/apimachinery/..."}},
	{dir: "pkg/simulator/tungsten", may: []string{uuid}},
	{dir: "pkg/simulator/vrouter", may: []string{"pkg/tungsten"}},

	{dir: "pkg/apis/...", may: []string{"pkg/apis/...", "k8s.io/api/...", "k8s.io/apimachinery/..."}},
	{dir: "pkg/inputs/source", may: []string{
		"translator/budget", "pkg/intent", "pkg/object/address",
		"pkg/apis/...", "pkg/object", "pkg/version", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI, servicesAPI,
	}},
	{dir: "pkg/inputs/confirm", may: []string{"pkg/cause", "pkg/inputs/source", "k8s.io/apimachinery/...", "k8s.io/client-go/tools/cache", logrus}},
	{dir: "pkg/inputs/wire", may: []string{"google.golang.org/protobuf/encoding/protowire"}},
	{dir: "pkg/inputs/kube", may: []string{
		"pkg/apis/...", "pkg/cause", "pkg/object", "pkg/inputs/source", "pkg/inputs/confirm", "pkg/inputs/wire", "k8s.io/api/...", "k8s.io/apimachinery/...",
		"k8s.io/client-go/...", "k8s.io/utils/clock", "github.com/go-logr/logr", logrus,
	}},
	{dir: "pkg/inputs/source/sourcetest", may: []string{"pkg/inputs/source", "test/await", "k8s.io/api/...", "k8s.io/apimachinery/...", testify}},
	{dir: "pkg/inputs/manifest", may: []string{
		"pkg/apis/...", "pkg/apis/crdschema", "pkg/inputs/manifest/workload", "pkg/object", "pkg/inputs/source", "pkg/object/address", "pkg/object/spelling", "deploy/crds", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI,
		"k8s.io/client-go/kubernetes/scheme", "sigs.k8s.io/json", "sigs.k8s.io/mcs-api/config/crd", yaml, "go.yaml.in/yaml/v3", "github.com/fsnotify/fsnotify", "golang.org/x/sys/unix", logrus,
	}},
	{dir: "pkg/inputs/manifest/workload", may: []string{"pkg/object", "k8s.io/api/...", "k8s.io/apimachinery/..."}},
	{dir: "pkg/inputs/manifest/kustomization", may: []string{"sigs.k8s.io/kustomize/api/...", "sigs.k8s.io/kustomize/kyaml/filesys", yaml}},
	{dir: "pkg/apis/crdschema", may: []string{
		"k8s.io/apiextensions-apiserver/pkg/...", "k8s.io/apimachinery/...", "k8s.io/apiserver/pkg/apis/cel", yaml,
	}},
	{dir: "deploy/crds"},
	{dir: "pkg/object/spelling", pure: true},
	{dir: "pkg/object/address", pure: true},
	{dir: "pkg/answers/precedence", pure: true, may: []string{"pkg/intent", "pkg/object", "pkg/answers/reach"}},
	{dir: "pkg/answers/lint", pure: true, may: []string{
		"backends", "labelcache", "pkg/intent", "pkg/object", "pkg/object/address", "pkg/answers/precedence", "pkg/object/spelling", "translator", "k8s.io/api/...", "k8s.io/apimachinery/...",
		policyAPI,
	}},
	{dir: "pkg/answers/audit", pure: true, may: []string{
		"labelcache", "pkg/intent", "pkg/answers/lint", "pkg/object", "pkg/answers/reach", "pkg/answers/sheet",
	}},
	{dir: "pkg/answers/sheet", pure: true},
	{dir: "pkg/answers/picture", pure: true, may: []string{"pkg/intent"}},
	{dir: "pkg/answers/connections", pure: true, may: []string{
		"labelcache", "pkg/answers/name", "pkg/answers/picture", "pkg/answers/reach", "pkg/answers/sheet", "pkg/answers/world", "pkg/intent", "pkg/object",
	}},
	{dir: "pkg/answers/reach", pure: true, may: []string{"pkg/intent", "pkg/object"}},
	{dir: "pkg/reconcile", may: []string{"backends", "pkg/intent", "pkg/object", "golang.org/x/time/rate", logrus}},
	{dir: "pkg/inputs/retention", may: []string{
		"backends", "pkg/object", "pkg/inputs/source", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/runtime",
	}},
	{dir: "pkg/inputs/clusters/upstreams", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/gateway/registry", "pkg/gateway/upstream", "pkg/object", "pkg/inputs/clusters", "pkg/inputs/source", "pkg/inputs/kube",
		"k8s.io/apimachinery/...", "k8s.io/client-go/dynamic", "k8s.io/client-go/metadata", "k8s.io/client-go/kubernetes", logrus,
	}},
	{dir: "pkg/inputs/clusters", may: []string{"pkg/object", "pkg/inputs/source", "translator", "golang.org/x/sync/errgroup", logrus}},
	{dir: "pkg/pipeline", may: []string{
		"labelcache", "pkg/intent", "pkg/inputs/manifest", "pkg/object", "pkg/inputs/retention", "pkg/inputs/source", "translator", "translator/field", "k8s.io/apimachinery/pkg/api/meta", logrus,
	}},
	{dir: "pkg/pipeline/pipelinetest", may: []string{
		"pkg/intent", "pkg/object", "pkg/inputs/source", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI, logrus,
	}},
	{dir: "pkg/feedback/metrics", may: []string{
		"backends", "pkg/intent", "pkg/object", "pkg/reconcile", "pkg/version", "github.com/prometheus/client_golang/...",
	}},
	{dir: "pkg/config/setting"},
	{
		dir: "pkg/config", may: []string{"pkg/intent", "pkg/config/setting", "github.com/spf13/pflag", logrus, yaml},
		tests: []string{"backends/builtin", testify},
	},
	{dir: "pkg/feedback/sdwan/status", pure: true, may: []string{
		"backends", "pkg/apis/...", "pkg/feedback/target/state", "pkg/intent", "pkg/object", "k8s.io/apimachinery/...",
	}},
	{dir: "pkg/feedback/policy/report", pure: true, may: []string{
		"backends", "pkg/apis/...", "pkg/feedback/target/state", "pkg/intent", "pkg/object", "k8s.io/apimachinery/...",
	}},
	{dir: "pkg/serve/listener", may: []string{logrus}},
	{dir: "pkg/serve", may: []string{
		"backends", "pkg/serve/auth", "pkg/serve/httpbody", "pkg/intent", "pkg/serve/listener", "pkg/object", "pkg/pipeline", "pkg/reconcile", "pkg/answers/intents", "pkg/inputs/retention",
		"pkg/serve/webhook/certs", "k8s.io/client-go/kubernetes", "k8s.io/client-go/rest", logrus,
	}},
	{dir: "pkg/serve/web/live", may: []string{
		"backends", "pkg/inputs/acllog", "pkg/intent", "pkg/object", "pkg/answers/flows", "pkg/answers/intents", "pkg/answers/world", "pkg/pipeline", "pkg/reconcile", "pkg/serve/web",
		"translator", "k8s.io/api/...", "k8s.io/apimachinery/pkg/runtime", policyAPI, logrus,
	}},
	{dir: "pkg/feedback/target", may: []string{
		"backends", "pkg/cause", "pkg/feedback/target/state", "pkg/intent", "pkg/feedback/metrics", "pkg/reconcile", logrus,
	}},
	{dir: "pkg/feedback/target/state", pure: true, may: []string{"backends", "pkg/intent", "pkg/object", "k8s.io/apimachinery/pkg/apis/meta/v1"}},
	{dir: "pkg/feedback/policy", may: []string{
		"backends", "pkg/apis/...", "pkg/cause", "pkg/feedback", "pkg/feedback/target/...", "pkg/intent", "pkg/feedback/metrics", "pkg/object", "pkg/pipeline",
		"pkg/reconcile", "pkg/feedback/policy/report", "pkg/inputs/confirm", "pkg/inputs/retention", "translator", "k8s.io/api/...",
		"k8s.io/apimachinery/...", "k8s.io/client-go/...", "github.com/go-logr/logr", "golang.org/x/sync/errgroup", logrus,
	}},
	{dir: "pkg/feedback/readiness", may: []string{
		"backends", "pkg/cause", "pkg/feedback", "pkg/feedback/metrics", "pkg/feedback/policy", "pkg/feedback/policy/report", "pkg/feedback/target/...",
		"pkg/inputs/source", "pkg/intent", "pkg/object", "pkg/pipeline", "pkg/reconcile", "k8s.io/api/core/v1", "k8s.io/apimachinery/...",
		"k8s.io/client-go/metadata", "golang.org/x/sync/errgroup", logrus,
	}},
	{dir: "pkg/feedback", may: []string{
		"pkg/apis/...", "pkg/feedback/target/state", "k8s.io/api/core/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/...",
	}},
	{dir: "pkg/answers/verify", pure: true, may: []string{
		"labelcache", "pkg/apis/...", "pkg/intent", "pkg/object", "pkg/ovsdb/nbtrace", "pkg/answers/reach", "pkg/answers/world",
	}},
	// answers: the base that questions share, then a room a question. A question never imports another one.
	{dir: "pkg/answers/name", pure: true, may: []string{"pkg/intent", "pkg/object", "pkg/object/spelling"}},
	{dir: "pkg/answers/world", pure: true, may: []string{
		"labelcache", "pkg/apis/...", "pkg/answers/name", "pkg/intent", "pkg/object", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI,
	}},
	{dir: "pkg/answers/network", pure: true, may: []string{
		"labelcache", "pkg/answers/world", "pkg/intent", "pkg/object", "k8s.io/api/...", "k8s.io/apimachinery/...",
	}},
	{dir: "pkg/answers/intents", pure: true, may: []string{"pkg/answers/world", "pkg/intent", "pkg/object"}},
	{dir: "pkg/answers/question", pure: true, may: []string{"pkg/answers/name", "pkg/answers/world", "pkg/intent", "pkg/object"}},
	{dir: "pkg/answers/probe", pure: true, may: []string{
		"pkg/answers/name", "pkg/answers/question", "pkg/answers/world", "pkg/intent", "pkg/object", "sigs.k8s.io/json", yaml,
	}},
	{dir: "pkg/answers/explain", pure: true, may: []string{
		"labelcache", "pkg/answers/intents", "pkg/answers/name", "pkg/answers/precedence", "pkg/answers/reach", "pkg/answers/world", "pkg/intent", "pkg/object",
		"k8s.io/api/...",
	}},
	{dir: "pkg/answers/impact", pure: true, may: []string{
		"labelcache", "pkg/answers/picture", "pkg/answers/reach", "pkg/answers/world", "pkg/intent", "pkg/object",
	}},
	{dir: "pkg/answers/answerstest", may: []string{
		"pkg/answers/world", "pkg/inputs/manifest", "pkg/intent", "translator", "k8s.io/apimachinery/pkg/runtime", policyAPI, yaml, testify, logrus,
	}},
	{dir: "pkg/inputs/acllog"},
	{dir: "pkg/inputs/conntrack"},
	{dir: "pkg/inputs/acllog/acllogtest", may: []string{"pkg/inputs/acllog"}},
	{dir: "pkg/answers/flows", may: []string{"pkg/answers/question", "pkg/answers/world", "pkg/inputs/acllog", "pkg/intent", "pkg/object"}},
	{dir: "pkg/answers/suggest", pure: true, may: []string{
		"labelcache", "pkg/answers/question", "pkg/answers/reach", "pkg/answers/world", "pkg/intent", "pkg/object", "k8s.io/api/...", "k8s.io/apimachinery/...", yaml,
	}},
	{dir: "pkg/serve/web/draft", may: []string{
		"pkg/intent", "pkg/inputs/manifest", "pkg/object", "pkg/answers/world", "translator", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI, logrus,
	}},
	{dir: "pkg/serve/web/chart", pure: true, may: []string{"pkg/answers/connections", "pkg/answers/reach", "pkg/intent", "pkg/object"}},
	{dir: "pkg/serve/web", may: []string{
		"labelcache", "pkg/serve/web/chart", "pkg/serve/web/draft", "pkg/serve/httpbody", "pkg/intent", "pkg/object", "pkg/answers/...",
		"translator", "k8s.io/api/...", "k8s.io/apimachinery/...", yaml,
	}},
	{dir: "pkg/serve/webhook", may: []string{
		"pkg/apis/...", "pkg/answers/lint", "pkg/serve/listener", "pkg/object", "pkg/inputs/source", "pkg/serve/webhook/...", "k8s.io/api/...",
		"k8s.io/apimachinery/...", "github.com/prometheus/client_golang/...", logrus,
	}},
	{dir: "pkg/serve/webhook/advice", pure: true, may: []string{
		"pkg/answers/lint", "pkg/object", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI,
	}},
	{dir: "pkg/serve/webhook/bucket", pure: true, may: []string{"pkg/apis/...", "k8s.io/api/..."}},
	{dir: "pkg/serve/authority"},
	{dir: "pkg/serve/webhook/certs", may: []string{"pkg/serve/authority", "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes", logrus}},
	{dir: "pkg/serve/webhook/consistency", pure: true, may: []string{"pkg/apis/...", "pkg/object", "k8s.io/apimachinery/..."}},
	{dir: "pkg/feedback/sdwan", may: []string{
		"backends", "pkg/apis/...", "pkg/cause", "pkg/feedback", "pkg/feedback/target/...", "pkg/intent", "pkg/feedback/metrics", "pkg/object", "pkg/openwrt",
		"pkg/pipeline", "pkg/reconcile", "pkg/inputs/retention", "pkg/inputs/source", "pkg/feedback/sdwan/status", "translator",
		"k8s.io/api/core/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/...", "golang.org/x/sync/errgroup", logrus,
	}},
	{dir: "pkg/feedback/sdwan/sdwantest", may: []string{
		"pkg/apis/...", "pkg/feedback/sdwan", "pkg/object", "pkg/simulator/openwrt", "pkg/pipeline/pipelinetest", "pkg/feedback/sdwan/status",
		"k8s.io/api/core/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/...", testify, logrus,
	}},
	{dir: "pkg/inputs/resolver", may: []string{"translator", logrus}},
	{dir: "pkg/election", may: []string{
		"backends", "pkg/reconcile", "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/...",
		"github.com/go-logr/logr", logrus, uuid,
	}},
	{dir: "pkg/election/electiontest", may: []string{
		"pkg/election", "k8s.io/api/coordination/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes/...", testify,
	}},
	{dir: "pkg/serve/auth", may: []string{"pkg/serve/auth/review", "k8s.io/api/...", "k8s.io/client-go/kubernetes", logrus}},
	{dir: "pkg/serve/auth/review", may: []string{"k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes"}},
	{dir: "pkg/serve/httpbody"},
	{dir: "pkg/daemon/pages", may: []string{"golang.org/x/sys/unix"}},
	{dir: "pkg/offline", may: []string{
		"backends", "backends/builtin", "pkg/apis/...", "pkg/intent", "pkg/answers/...", "pkg/inputs/manifest/...", "pkg/object", "pkg/ovsdb", "pkg/ovsdb/nbtrace", "pkg/pipeline",
		"pkg/reconcile", "pkg/inputs/retention", "pkg/inputs/source", "pkg/inputs/kube", "pkg/feedback/sdwan/status", "translator", "translator/field", "k8s.io/api/...",
		"k8s.io/apimachinery/...",
		"k8s.io/client-go/...", yaml, logrus,
	}},
	{dir: "pkg/version"},
	{dir: "pkg/gateway/dispatch", pure: true, may: []string{"pkg/apis/proxy/v1alpha1"}},
	{dir: "pkg/gateway", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/gateway/...", "pkg/serve/listener", "github.com/google/btree", "k8s.io/api/authorization/v1", "k8s.io/apimachinery/...",
		"k8s.io/apiserver/pkg/authentication/...",
		"k8s.io/apiserver/pkg/authorization/authorizer", "k8s.io/apiserver/pkg/endpoints/request", "k8s.io/client-go/kubernetes/...", "k8s.io/client-go/rest",
		"k8s.io/api/authentication/v1", "k8s.io/apiserver/pkg/apis/audit/v1", "golang.org/x/net/http/httpguts", "github.com/prometheus/client_golang/...", logrus, uuid,
	}},
	{dir: "pkg/gateway/audit", may: []string{"k8s.io/apiserver/pkg/apis/audit/v1", logrus}},
	{dir: "pkg/gateway/kubeconfig", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/serve/authority", "pkg/gateway/definition", "k8s.io/client-go/tools/clientcmd", "k8s.io/client-go/tools/clientcmd/api",
	}},
	{dir: "pkg/gateway/credential", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/gateway/transport", "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes/...",
		"k8s.io/client-go/pkg/apis/clientauthentication/v1", "k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd/...", logrus,
	}},
	{dir: "pkg/gateway/definition", may: []string{
		"deploy/crds", "pkg/apis/proxy/v1alpha1", "pkg/apis/crdschema", "pkg/gateway/upstream", "k8s.io/apimachinery/...", "sigs.k8s.io/json", yaml,
	}},
	{dir: "pkg/gateway/identity", may: []string{
		"pkg/serve/auth/review", "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/apiserver/pkg/authentication/...", "k8s.io/apiserver/pkg/authorization/authorizer",
		"k8s.io/client-go/kubernetes", "golang.org/x/net/http/httpguts", "golang.org/x/sync/semaphore", "golang.org/x/time/rate",
	}},
	{dir: "pkg/gateway/quota", may: []string{
		"k8s.io/api/coordination/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes/typed/coordination/v1", logrus,
	}},
	{dir: "pkg/gateway/registry", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/cause", "pkg/gateway/definition", "pkg/inputs/manifest", "pkg/inputs/source", "pkg/inputs/confirm",
		"k8s.io/apimachinery/...", "k8s.io/client-go/...", logrus,
	}},
	{dir: "pkg/gateway/flow", may: []string{"pkg/apis/proxy/v1alpha1", "golang.org/x/time/rate"}},
	{dir: "pkg/gateway/transport", may: []string{"golang.org/x/net/http/httpguts", "golang.org/x/net/http2", "k8s.io/client-go/transport"}},
	{dir: "pkg/gateway/upstream", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/gateway/dispatch", "pkg/gateway/flow", "pkg/gateway/transport", "pkg/version", "k8s.io/apimachinery/pkg/apis/meta/v1", "golang.org/x/time/rate",
		logrus,
	}},
	{dir: "pkg/gateway/watchcache", may: []string{
		"pkg/inputs/confirm", "github.com/hashicorp/go-immutable-radix/v2", "k8s.io/apimachinery/pkg/api/errors",
		"k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/fields",
		"k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/runtime/schema", "k8s.io/apimachinery/pkg/util/validation",
		"k8s.io/apiserver/pkg/authorization/authorizer",
		"k8s.io/apiserver/pkg/endpoints/request", logrus,
	}},
	{dir: "pkg/daemon/...", may: everything},

	{dir: "test/arch", tests: []string{testify}},
	{dir: "test/oracle", may: []string{"k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI, servicesAPI}, tests: []string{testify, yaml}},
	{dir: "test/...", may: everything},
}

// door restricts who may import a part of this module, whatever the rows allow. It applies to tests too.
type door struct {
	to      string   // the part
	from    []string // the directories that may import it
	tests   bool     // tests anywhere may as well
	because string
}

// doors are the imports that are restricted for all rooms.
var doors = []door{
	{to: "cmd/...", because: "nothing imports a command"},
	{
		to: "pkg/daemon/...", from: []string{"cmd/...", "pkg/daemon/...", "test/cnf"},
		because: "only cmd imports the daemon, and what tests all of it",
	},
	{to: "test/...", from: []string{"backends/backendtest", "backends/ovn/ovntest", "pkg/inputs/source/sourcetest", "test/..."}, tests: true, because: "only tests import what is under test/"},
	{to: "pkg/feedback/sdwan/sdwantest", tests: true, because: "only tests import the site with CNFs"},
	{
		to: "pkg/pipeline/pipelinetest", from: []string{"pkg/feedback/sdwan/sdwantest"}, tests: true,
		because: "only tests import the source of tests",
	},
	{
		to: "backends/backendtest", tests: true, because: "only tests import the contract",
		from: []string{"backends/...", "test/..."},
	},
}

// impure is what a pure room must not use: the clock, randomness, logs, and everything that reads or writes.
var impure = []string{
	"context", "crypto/rand", "io/fs", "log/...", "math/rand/...", "net", "net/http/...", "net/rpc/...", "os/...", "syscall",
	"testing/...", "time",
}

// reflective is what makes the linker keep every exported method of every type that is reachable: it looks methods up by name.
// With one of them, the command is a third larger; test/sbom checks this for its libraries, too.
var reflective = []string{"html/template", "plugin", "text/template"}

// pureFiles are the files of a backend that must be pure, in every room directly under backends.
var pureFiles = []string{"diff.go", "match.go", "names.go", "render.go"}

// starters are the rooms that may start goroutines: code that starts one waits for it.
var starters = []string{
	"cmd/...", "pkg/daemon/...", "pkg/election", "pkg/gateway/...", "pkg/inputs/confirm", "pkg/inputs/kube", "pkg/inputs/manifest", "pkg/offline",
	"pkg/openwrt", "pkg/ovsdb/...", "pkg/reconcile", "pkg/serve", "pkg/serve/auth/review", "pkg/serve/webhook", "pkg/simulator/...", "pkg/tungsten", "test/...",
}

// emptyNames are names of packages without meaning.
var emptyNames = []string{"base", "common", "helper", "helpers", "misc", "shared", "types", "util", "utils"}

// maxLines is the limit on a file that is neither a test nor generated.
const maxLines = 450
