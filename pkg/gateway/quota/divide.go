package quota

import (
	"cmp"
	"math"
	"slices"
)

// reserved is the part of the limit that is not given by demand, but equally: an instance to which clients come suddenly has something.
const reserved = 0.05

// Divide divides a limit among instances by their demands, which are not negative; it returns their shares in the same order. None gets more
// than most. Small demands are met in full, and what is left is divided equally. If whole is true, shares are whole numbers, and at least 1:
// their sum is more than the limit if there are more instances. Otherwise, it never is.
func Divide(limit, most float64, whole bool, demands []float64) []float64 {
	n := float64(len(demands))
	wanted := make([]float64, len(demands))
	for i, d := range demands {
		wanted[i] = min(most, d+limit*reserved/n)
	}
	out := make([]float64, len(demands))
	left := raise(out, limit, wanted)
	for i := range wanted {
		wanted[i] = most
	}
	raiseBy(out, left, wanted)
	if whole {
		round(out, min(limit, most*n))
	}
	return out
}

// raise raises all shares together, each up to its goal, until the sum is the limit. It returns what is left of it.
func raise(shares []float64, limit float64, goals []float64) (left float64) {
	order := make([]int, len(goals))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(goals[a], goals[b]) })
	left = limit
	for k, i := range order {
		shares[i] = min(goals[i], left/float64(len(order)-k))
		left -= shares[i]
	}
	return left
}

// raiseBy adds the same to all shares, each up to its goal, until nothing is left.
func raiseBy(shares []float64, left float64, goals []float64) {
	room, more := make([]float64, len(shares)), make([]float64, len(shares))
	for i := range shares {
		room[i] = max(0, goals[i]-shares[i])
	}
	raise(more, left, room)
	for i := range shares {
		shares[i] += more[i]
	}
}

// round makes the shares whole numbers with the same sum, as far as each is at least 1.
func round(shares []float64, sum float64) {
	order := make([]int, len(shares))
	rests := make([]float64, len(shares))
	left := math.Floor(sum + 1e-6)
	for i, s := range shares {
		order[i] = i
		shares[i] = max(1, math.Floor(s+1e-6))
		rests[i] = s - shares[i]
		left -= shares[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rests[b], rests[a]) })
	for _, i := range order {
		if left < 1 {
			break
		}
		shares[i]++
		left--
	}
	for ; left < 0; left++ { // some got 1 although their share is smaller: those that have most give it
		most := slices.Index(shares, slices.Max(shares))
		if shares[most] <= 1 {
			return
		}
		shares[most]--
	}
}
