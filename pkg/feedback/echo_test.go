package feedback_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/feedback"
)

func version(uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
}

func TestAnEchoOutdatesWhatItReplaced(t *testing.T) {
	var none *feedback.Echo[*corev1.Pod]
	require.False(t, none.Outdates(version("a", "1")))

	e := none.After(version("a", "2"), "1").After(version("a", "3"), "2")
	require.Equal(t, "3", e.Object.ResourceVersion)
	require.False(t, e.Fresh())
	require.True(t, e.Outdates(version("a", "1")))
	require.True(t, e.Outdates(version("a", "2")))
	require.False(t, e.Outdates(version("a", "3")), "it is the same")
	require.False(t, e.Outdates(version("a", "9")), "another client wrote it")
	require.False(t, e.Outdates(version("b", "1")), "it was deleted and created again")
}

func TestAnObjectStaysNewUntilItIsDelivered(t *testing.T) {
	var none *feedback.Echo[*corev1.Pod]
	e := none.After(version("a", "1"), "")
	require.True(t, e.Fresh())
	require.False(t, e.Outdates(version("a", "")))
	e = e.After(version("a", "2"), "1")
	require.True(t, e.Fresh())
	require.True(t, e.Outdates(version("a", "1")))
}

func TestAnEchoRemembersAFewVersions(t *testing.T) {
	var e *feedback.Echo[*corev1.Pod]
	for i := range 20 {
		e = e.After(version("a", strconv.Itoa(i+1)), strconv.Itoa(i))
	}
	require.True(t, e.Outdates(version("a", "12")))
	require.False(t, e.Outdates(version("a", "11")))
}
