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
		"labelcache", "pkg/intent", "pkg/object", "pkg/apis/...", "translator/...", "k8s.io/api/...", "k8s.io/apimachinery/...",
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
		"labelcache", "pkg/apis/ovnkubernetes/v1", "pkg/intent", "pkg/object", "translator/budget", "translator/dirty", "translator/field",
		"translator/host", "translator/owner", "translator/sets", "github.com/google/btree", "k8s.io/api/...", "k8s.io/apimachinery/...",
		policyAPI,
	}},
	{dir: "translator/service", pure: true, may: []string{
		"pkg/intent", "pkg/object", "translator/budget", "translator/dirty", "translator/field", "translator/owner",
		"k8s.io/api/...", "k8s.io/apimachinery/...", servicesAPI,
	}},
	{dir: "translator/sdwan", pure: true, may: []string{
		"labelcache", "pkg/intent", "pkg/object", "pkg/apis/...", "translator/dirty", "translator/field", "translator/host",
		"translator/owner", "translator/sets", "k8s.io/api/...", "k8s.io/apimachinery/...",
	}},

	{dir: "backends", may: []string{"pkg/intent", "pkg/object", "github.com/hashicorp/go-immutable-radix/v2"}},
	{dir: "backends/backendtest", may: []string{"backends", "pkg/intent", "pkg/object", "test/await", "test/seeds", testify}},
	{dir: "backends/builtin", may: []string{
		"backends/...", "pkg/intent", "pkg/ovsdb", "pkg/ovsdb/schema", "pkg/openwrt", "pkg/setting", "pkg/tungsten", logrus,
	}},
	{dir: "backends/memory", may: []string{"backends", "pkg/intent", "pkg/object"}},
	{dir: "backends/memory/memorytest", may: []string{"backends", "backends/backendtest", "backends/memory", "pkg/intent"}},
	{dir: "backends/ovn", may: []string{
		"backends", "backends/ovn/internal/...", "pkg/intent", "pkg/object", "pkg/ovsdb", "pkg/setting", libovsdb, logrus,
		"github.com/hashicorp/go-immutable-radix/v2",
	}},
	{dir: "backends/ovn/internal/lb", pure: true, may: []string{"backends", "backends/ovn/internal/nb", "pkg/intent", "pkg/ovsdb"}},
	{dir: "backends/ovn/internal/nb", pure: true, may: []string{"backends", "pkg/intent", "pkg/ovsdb", libovsdb, uuid}},
	{dir: "backends/ovn/ovntest", may: []string{
		"backends", "backends/backendtest", "backends/ovn", "pkg/intent", "pkg/object", "pkg/ovsdb/...", "test/await", libovsdb, uuid, testify,
	}},
	{dir: "backends/openwrt", may: []string{"backends", "pkg/intent", "pkg/object", "pkg/openwrt", logrus}},
	{dir: "backends/tungsten", may: []string{"backends", "pkg/intent", "pkg/object", "pkg/setting", "pkg/tungsten", uuid}},
	{dir: "backends/tungsten/tungstentest", may: []string{
		"backends", "backends/backendtest", "backends/tungsten", "pkg/intent", "pkg/object", "pkg/tungsten/...", uuid, testify,
	}},

	{dir: "pkg/cause"},
	{dir: "pkg/ovsdb/...", may: []string{"pkg/cause", "pkg/ovsdb/...", libovsdb, uuid, logrus}},
	{dir: "pkg/httpcall"},
	{dir: "pkg/openwrt", may: []string{"pkg/httpcall", logrus}},
	{dir: "pkg/openwrt/simulator"},
	{dir: "pkg/tungsten/...", may: []string{"pkg/httpcall", "pkg/tungsten/...", uuid, logrus}},

	{dir: "pkg/apis/...", may: []string{"pkg/apis/...", "k8s.io/api/...", "k8s.io/apimachinery/..."}},
	{dir: "pkg/source", may: []string{
		"pkg/apis/...", "pkg/object", "pkg/version", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI, servicesAPI,
	}},
	{dir: "pkg/source/confirm", may: []string{"pkg/cause", "pkg/source", "k8s.io/apimachinery/...", "k8s.io/client-go/tools/cache", logrus}},
	{dir: "pkg/source/kube", may: []string{
		"pkg/apis/...", "pkg/cause", "pkg/object", "pkg/source", "pkg/source/confirm", "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/...",
		"github.com/go-logr/logr", logrus,
	}},
	{dir: "pkg/source/sourcetest", may: []string{"pkg/source", "test/await", "k8s.io/api/...", "k8s.io/apimachinery/...", testify}},
	{dir: "pkg/manifest", may: []string{
		"pkg/apis/...", "pkg/crdschema", "pkg/manifest/workload", "pkg/object", "pkg/source", "pkg/spelling", "deploy/crds", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI,
		"k8s.io/client-go/kubernetes/scheme", "sigs.k8s.io/json", "sigs.k8s.io/mcs-api/config/crd", yaml, "go.yaml.in/yaml/v3", "github.com/fsnotify/fsnotify", "golang.org/x/sys/unix", logrus,
	}},
	{dir: "pkg/manifest/workload", may: []string{"pkg/object", "k8s.io/api/...", "k8s.io/apimachinery/..."}},
	{dir: "pkg/manifest/kustomization", may: []string{"sigs.k8s.io/kustomize/api/...", "sigs.k8s.io/kustomize/kyaml/filesys", yaml}},
	{dir: "pkg/crdschema", may: []string{
		"k8s.io/apiextensions-apiserver/pkg/...", "k8s.io/apimachinery/...", "k8s.io/apiserver/pkg/apis/cel", yaml,
	}},
	{dir: "deploy/crds"},
	{dir: "pkg/spelling", pure: true},
	{dir: "pkg/precedence", pure: true, may: []string{"pkg/intent", "pkg/object", "pkg/reach"}},
	{dir: "pkg/lint", pure: true, may: []string{
		"backends", "labelcache", "pkg/intent", "pkg/object", "pkg/precedence", "pkg/spelling", "translator", "k8s.io/api/...", "k8s.io/apimachinery/...",
		policyAPI,
	}},
	{dir: "pkg/audit", pure: true, may: []string{"labelcache", "pkg/intent", "pkg/lint", "pkg/object", "pkg/reach"}},
	{dir: "pkg/reach", pure: true, may: []string{"pkg/intent", "pkg/object"}},
	{dir: "pkg/reconcile", may: []string{"backends", "pkg/intent", "pkg/object", "golang.org/x/time/rate", logrus}},
	{dir: "pkg/retention", may: []string{"backends", "pkg/object", "pkg/source", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/runtime"}},
	{dir: "pkg/peers/upstreams", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/gateway/registry", "pkg/gateway/upstream", "pkg/object", "pkg/peers", "pkg/source", "pkg/source/kube",
		"k8s.io/apimachinery/...", "k8s.io/client-go/dynamic", "k8s.io/client-go/kubernetes", logrus,
	}},
	{dir: "pkg/peers", may: []string{"pkg/object", "pkg/source", "translator", "golang.org/x/sync/errgroup", logrus}},
	{dir: "pkg/pipeline", may: []string{
		"labelcache", "pkg/intent", "pkg/manifest", "pkg/object", "pkg/retention", "pkg/source", "translator", "translator/field", "k8s.io/apimachinery/pkg/api/meta", logrus,
	}},
	{dir: "pkg/pipeline/pipelinetest", may: []string{
		"pkg/intent", "pkg/object", "pkg/source", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI, logrus,
	}},
	{dir: "pkg/metrics", may: []string{
		"backends", "pkg/intent", "pkg/object", "pkg/reconcile", "pkg/version", "github.com/prometheus/client_golang/...",
	}},
	{dir: "pkg/setting"},
	{
		dir: "pkg/config", may: []string{"pkg/intent", "pkg/setting", "github.com/spf13/pflag", logrus, yaml},
		tests: []string{"backends/builtin", testify},
	},
	{dir: "pkg/status", pure: true, may: []string{
		"backends", "pkg/apis/...", "pkg/intent", "pkg/object", "k8s.io/apimachinery/...",
	}},
	{dir: "pkg/report", pure: true, may: []string{
		"backends", "pkg/apis/...", "pkg/intent", "pkg/object", "k8s.io/apimachinery/...",
	}},
	{dir: "pkg/listener", may: []string{logrus}},
	{dir: "pkg/serving", may: []string{
		"backends", "pkg/httpauth", "pkg/httpbody", "pkg/intent", "pkg/listener", "pkg/object", "pkg/pipeline", "pkg/query", "pkg/retention",
		"pkg/webhook/certs", "k8s.io/client-go/kubernetes", "k8s.io/client-go/rest", logrus,
	}},
	{dir: "pkg/webui/live", may: []string{
		"backends", "pkg/acllog", "pkg/intent", "pkg/object", "pkg/observe", "pkg/pipeline", "pkg/query", "pkg/reconcile", "pkg/webui",
		"translator", "k8s.io/api/...", "k8s.io/apimachinery/pkg/runtime", policyAPI, logrus,
	}},
	{dir: "pkg/coverage", may: []string{"backends", "pkg/intent", "pkg/metrics", "pkg/reconcile", logrus}},
	{dir: "pkg/controller/policy", may: []string{
		"backends", "pkg/apis/...", "pkg/cause", "pkg/controller", "pkg/intent", "pkg/metrics", "pkg/object", "pkg/pipeline",
		"pkg/reconcile", "pkg/report", "pkg/retention", "translator", "k8s.io/api/...", "k8s.io/apimachinery/...",
		"k8s.io/client-go/...", "github.com/go-logr/logr", "golang.org/x/sync/errgroup", logrus,
	}},
	{dir: "pkg/controller", may: []string{
		"pkg/apis/...", "k8s.io/api/core/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/...",
	}},
	{dir: "pkg/verify", pure: true, may: []string{
		"labelcache", "pkg/apis/...", "pkg/intent", "pkg/object", "pkg/ovsdb/nbtrace", "pkg/query", "pkg/reach",
	}},
	{dir: "pkg/sentinel", may: []string{"pkg/verify", "github.com/prometheus/client_golang/...", logrus}},
	{dir: "pkg/query", pure: true, may: []string{
		"labelcache", "pkg/apis/...", "pkg/intent", "pkg/object", "pkg/precedence", "pkg/reach", "pkg/spelling", "k8s.io/api/...",
		"k8s.io/apimachinery/...", "sigs.k8s.io/json", policyAPI, yaml,
	}},
	{dir: "pkg/acllog"},
	{dir: "pkg/acllog/acllogtest", may: []string{"pkg/acllog"}},
	{dir: "pkg/observe", may: []string{"pkg/acllog", "pkg/intent", "pkg/query"}},
	{dir: "pkg/suggest", pure: true, may: []string{
		"labelcache", "pkg/intent", "pkg/object", "pkg/query", "pkg/reach", "k8s.io/api/...", "k8s.io/apimachinery/...", yaml,
	}},
	{dir: "pkg/draft", may: []string{
		"pkg/intent", "pkg/manifest", "pkg/object", "pkg/query", "translator", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI, logrus,
	}},
	{dir: "pkg/webui", may: []string{
		"labelcache", "pkg/draft", "pkg/httpbody", "pkg/intent", "pkg/object", "pkg/observe", "pkg/query", "pkg/reach", "pkg/suggest",
		"translator", "k8s.io/api/...", "k8s.io/apimachinery/...", yaml,
	}},
	{dir: "pkg/webhook", may: []string{
		"pkg/apis/...", "pkg/lint", "pkg/listener", "pkg/object", "pkg/source", "pkg/webhook/...", "k8s.io/api/...",
		"k8s.io/apimachinery/...", "github.com/prometheus/client_golang/...", logrus,
	}},
	{dir: "pkg/webhook/advice", pure: true, may: []string{
		"pkg/lint", "pkg/object", "k8s.io/api/...", "k8s.io/apimachinery/...", policyAPI,
	}},
	{dir: "pkg/webhook/bucket", pure: true, may: []string{"pkg/apis/...", "k8s.io/api/..."}},
	{dir: "pkg/webhook/certs", may: []string{"k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes", logrus}},
	{dir: "pkg/webhook/consistency", pure: true, may: []string{"pkg/apis/...", "pkg/object", "k8s.io/apimachinery/..."}},
	{dir: "pkg/controller/sdwan", may: []string{
		"backends", "pkg/apis/...", "pkg/cause", "pkg/controller", "pkg/intent", "pkg/metrics", "pkg/object", "pkg/openwrt",
		"pkg/pipeline", "pkg/reconcile", "pkg/retention", "pkg/source", "pkg/status", "translator",
		"k8s.io/api/core/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/...", "golang.org/x/sync/errgroup", logrus,
	}},
	{dir: "pkg/controller/sdwan/sdwantest", may: []string{
		"pkg/apis/...", "pkg/controller/sdwan", "pkg/object", "pkg/openwrt/simulator", "pkg/pipeline/pipelinetest", "pkg/status",
		"k8s.io/api/core/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/...", testify, logrus,
	}},
	{dir: "pkg/resolver", may: []string{"translator", logrus}},
	{dir: "pkg/election", may: []string{
		"backends", "pkg/metrics", "pkg/reconcile", "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/...",
		"github.com/go-logr/logr", logrus, uuid,
	}},
	{dir: "pkg/election/electiontest", may: []string{
		"pkg/election", "k8s.io/api/coordination/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes/...", testify,
	}},
	{dir: "pkg/httpauth", may: []string{"k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/kubernetes", logrus}},
	{dir: "pkg/httpbody"},
	{dir: "pkg/pages", may: []string{"golang.org/x/sys/unix"}},
	{dir: "pkg/offline", may: []string{
		"backends", "backends/builtin", "pkg/apis/...", "pkg/intent", "pkg/lint", "pkg/manifest/...", "pkg/object", "pkg/ovsdb", "pkg/ovsdb/nbtrace", "pkg/pipeline", "pkg/query",
		"pkg/reconcile", "pkg/retention", "pkg/source", "pkg/source/kube", "pkg/status", "translator", "translator/field", "k8s.io/api/...",
		"k8s.io/apimachinery/...",
		"k8s.io/client-go/...", logrus,
	}},
	{dir: "pkg/version"},
	{dir: "pkg/gateway/dispatch", pure: true, may: []string{"pkg/apis/proxy/v1alpha1"}},
	{dir: "pkg/gateway", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/gateway/...", "pkg/listener", "k8s.io/apimachinery/...", "k8s.io/apiserver/pkg/authentication/...",
		"k8s.io/apiserver/pkg/authorization/authorizer", "k8s.io/apiserver/pkg/endpoints/request", "k8s.io/client-go/kubernetes", "k8s.io/client-go/rest",
		"golang.org/x/net/http/httpguts", "github.com/prometheus/client_golang/...", logrus, uuid,
	}},
	{dir: "pkg/gateway/definition", may: []string{
		"deploy/crds", "pkg/apis/proxy/v1alpha1", "pkg/crdschema", "pkg/gateway/upstream", "k8s.io/apimachinery/...", "sigs.k8s.io/json", yaml,
	}},
	{dir: "pkg/gateway/identity", may: []string{
		"k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/apiserver/pkg/authentication/...", "k8s.io/apiserver/pkg/authorization/authorizer",
		"k8s.io/client-go/kubernetes", "golang.org/x/net/http/httpguts", "golang.org/x/sync/semaphore", "golang.org/x/sync/singleflight", "golang.org/x/time/rate",
	}},
	{dir: "pkg/gateway/registry", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/cause", "pkg/gateway/definition", "pkg/manifest", "pkg/source", "pkg/source/confirm",
		"k8s.io/apimachinery/...", "k8s.io/client-go/...", logrus,
	}},
	{dir: "pkg/gateway/flow", may: []string{"pkg/apis/proxy/v1alpha1", "golang.org/x/time/rate"}},
	{dir: "pkg/gateway/transport", may: []string{"golang.org/x/net/http/httpguts", "golang.org/x/net/http2", "k8s.io/client-go/transport"}},
	{dir: "pkg/gateway/upstream", may: []string{
		"pkg/apis/proxy/v1alpha1", "pkg/gateway/dispatch", "pkg/gateway/flow", "pkg/gateway/transport", "pkg/version", "golang.org/x/time/rate", logrus,
	}},
	{dir: "pkg/gateway/watchcache", may: []string{
		"github.com/hashicorp/go-immutable-radix/v2", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/fields",
		"k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/runtime/schema", "k8s.io/apimachinery/pkg/util/validation",
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
	{to: "test/...", from: []string{"backends/backendtest", "backends/ovn/ovntest", "pkg/source/sourcetest", "test/..."}, tests: true, because: "only tests import what is under test/"},
	{to: "pkg/controller/sdwan/sdwantest", tests: true, because: "only tests import the site with CNFs"},
	{
		to: "pkg/pipeline/pipelinetest", from: []string{"pkg/controller/sdwan/sdwantest"}, tests: true,
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
	"cmd/...", "pkg/daemon/...", "pkg/election", "pkg/gateway/...", "pkg/offline", "pkg/serving", "pkg/reconcile", "pkg/source/confirm", "pkg/source/kube", "pkg/webhook", "pkg/ovsdb/...", "pkg/openwrt/...",
	"pkg/tungsten/...",
	"test/...",
}

// emptyNames are names of packages without meaning.
var emptyNames = []string{"base", "common", "helper", "helpers", "misc", "shared", "types", "util", "utils"}

// maxLines is the limit on a file that is neither a test nor generated.
const maxLines = 450
