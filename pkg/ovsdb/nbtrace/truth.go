package nbtrace

// truth is the result of a match for a packet. The zero value is that of a part that this package cannot evaluate.
type truth int8

const (
	no    truth = -1
	maybe truth = 0
	yes   truth = 1
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// and is the truth of two parts together.
func (t truth) and(o truth) truth { return min(t, o) }
