package spelling

import (
	"slices"
	"sort"
	"strings"
)

// Near calls found for every word of a sorted list that is at most limit letters from word, in order: see Distance. It skips words whose
// beginning differs too much: among words that begin alike and then differ, a list that is four times as long takes less than twice as long.
func Near(sorted []string, word string, limit int, found func(near string, distance int)) {
	first := make([]int, len(word)+1)
	for j := range first {
		first[j] = min(j, limit+1)
	}
	rows := [][]int{first} // of the table of distances, for the beginnings of the word before
	before := ""
	for i := 0; i < len(sorted); {
		w := sorted[i]
		at := commonPrefix(before, w)
		for least := 0; at < len(w) && least <= limit; at++ {
			if len(rows) < at+2 {
				rows = append(rows, make([]int, len(word)+1))
			}
			least = fill(rows[:at+2], w, word, limit)
			if least > limit {
				i += sort.Search(len(sorted)-i, func(k int) bool { return !strings.HasPrefix(sorted[i+k], w[:at+1]) })
			}
		}
		before = w[:at]
		if i == len(sorted) || sorted[i] != w {
			continue
		}
		if d := rows[len(w)][len(word)]; d <= limit {
			found(w, d)
		}
		i++
	}
}

// fill computes the last row of the table of distances between the beginnings of a and those of b, and returns the least of it.
func fill(rows [][]int, a, b string, limit int) int {
	i := len(rows) - 1
	row, above := rows[i], rows[i-1]
	row[0] = min(i, limit+1)
	for j := 1; j < len(row); j++ {
		d := above[j-1]
		if a[i-1] != b[j-1] {
			d++
		}
		d = min(d, above[j]+1, row[j-1]+1, limit+1)
		if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
			d = min(d, rows[i-2][j-2]+1)
		}
		row[j] = d
	}
	return slices.Min(row)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
