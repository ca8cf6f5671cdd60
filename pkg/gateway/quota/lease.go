package quota

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Leases are known by this label.
const (
	label      = "app.kubernetes.io/component"
	labelValue = "netloom-gateway-quota"
	demandOf   = "netloom.io/gateway-demand" // an annotation: a JSON object of numbers by cluster and schema
	namePrefix = "netloom-gateway-quota-"
)

const (
	maxInstances  = 100
	maxAnnotation = 32 << 10 // bytes
	maxDemand     = 1e9
)

// demands are the demands of an instance by Limit.Key.
type demands map[string]float64

// encode returns the demands as an annotation with those that have room in it, and which these are.
func (d demands) encode() (text string, kept demands) {
	kept = demands{}
	size := len("{}")
	for _, key := range slices.Sorted(maps.Keys(d)) {
		value := rounded(d[key])
		name, err := json.Marshal(key)
		if value == 0 || err != nil {
			continue // what is not there is 0
		}
		size += len(name) + len(":,") + len(strconv.FormatFloat(value, 'g', -1, 64))
		if size > maxAnnotation {
			break
		}
		kept[key] = value
	}
	raw, err := json.Marshal(kept)
	if err != nil { // a number that is none
		return "{}", demands{}
	}
	return string(raw), kept
}

// decode reads an annotation. What cannot be read is no demand.
func decode(text string) demands {
	var out demands
	if len(text) > maxAnnotation || json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	for key, value := range out {
		out[key] = min(max(0, value), maxDemand)
	}
	return out
}

// rounded is a demand with two digits, so that it does not change all the time.
func rounded(v float64) float64 {
	if v <= 0 || math.IsNaN(v) {
		return 0
	}
	v = min(v, maxDemand)
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	out, err := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(v/unit-1e-9)*unit, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return out
}

// differs reports whether others should know that the demands have changed: by more than a tenth.
func (d demands) differs(before demands) bool {
	far := func(a, b float64) bool { return math.Abs(a-b) > max(a, b)/10 }
	for key, value := range d {
		if far(rounded(value), before[key]) {
			return true
		}
	}
	for key, value := range before {
		if _, still := d[key]; !still && value > 0 {
			return true
		}
	}
	return false
}

// name is that of the Lease of this instance.
func (o *Options) name() string { return namePrefix + o.Identity }

// lease returns the Lease of an instance.
func (o *Options) lease(annotation string, now time.Time) *coordinationv1.Lease {
	seconds, at := int32(expiry/time.Second), metav1.NewMicroTime(now)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: o.name(), Labels: map[string]string{label: labelValue}, Annotations: map[string]string{demandOf: annotation},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &o.Identity, LeaseDurationSeconds: &seconds, RenewTime: &at},
	}
}
