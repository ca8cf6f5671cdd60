// Package spelling compares words that may be misspelt.
package spelling

// Distance is how many letters have to be inserted, removed, replaced or swapped with their neighbor to make b of a; -1 if it is
// more than limit. It takes time in proportion to the longer word and the limit.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return -1
	}
	beyond := limit + 1
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = min(j, beyond)
	}
	for i := 1; i <= len(a); i++ {
		before, above, row := rows[0], rows[1], rows[2]
		first, last := max(1, i-limit), min(len(b), i+limit)
		row[first-1] = beyond
		if first == 1 {
			row[0] = min(i, beyond)
		}
		least := row[first-1]
		for j := first; j <= last; j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			d := above[j-1] + differ
			if j < i+limit {
				d = min(d, above[j]+1)
			}
			d = min(d, row[j-1]+1, beyond)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return -1
		}
		rows = [3][]int{above, row, before}
	}
	if d := rows[1][len(b)]; d <= limit {
		return d
	}
	return -1
}
