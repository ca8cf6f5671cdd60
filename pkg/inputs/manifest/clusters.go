package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// Clusters is the set of clusters that a List belongs to, as Write has it.
type Clusters struct {
	Own        string `json:"own"`                  // the cluster of the List's items
	Everywhere bool   `json:"everywhere,omitempty"` // see ClusterSet
	// Others are the other clusters of the set, by name.
	Others []OtherCluster `json:"others"`
}

// OtherCluster is the objects that were read of another cluster.
type OtherCluster struct {
	Name   string          `json:"name"`
	Unread string          `json:"unread,omitempty"` // see source.Foreign
	List   json.RawMessage `json:"list"`             // as Write has it
}

// ClustersOf returns the set of clusters in a List written by Write; nil for any other text, and if there is one cluster.
func ClustersOf(manifests []byte) *Clusters {
	out := &Clusters{}
	if !headField(manifests, "clusters", out) {
		return nil
	}
	return out
}

// ClusterSet is a set of clusters to write with a List: see ClustersOf.
type ClusterSet struct {
	Own        string
	Everywhere bool // a selector of peers that names no cluster selects pods of all of them
	Others     []source.Foreign
}

// write writes the field of a List that has the set, followed by a comma.
func (s *ClusterSet) write(w io.Writer) error {
	head, err := json.Marshal(Clusters{Own: s.Own, Everywhere: s.Everywhere, Others: []OtherCluster{}})
	if err != nil {
		return fmt.Errorf("export manifests: %w", err)
	}
	before := append([]byte(`"clusters":`), bytes.TrimSuffix(head, []byte("]}"))...)
	for _, o := range s.Others {
		head, err := json.Marshal(OtherCluster{Name: o.Cluster, Unread: o.Unread})
		if err != nil {
			return fmt.Errorf("export manifests: %w", err)
		}
		if _, err := w.Write(append(before, bytes.TrimSuffix(head, []byte("null}"))...)); err != nil {
			return err
		}
		if err := Write(w, o.Source, o.Refs, nil, nil); err != nil {
			return err
		}
		before = []byte("},")
	}
	end := "]},"
	if len(s.Others) > 0 {
		end = "}" + end
	} else {
		end = string(before) + end
	}
	_, err = io.WriteString(w, end)
	return err
}
