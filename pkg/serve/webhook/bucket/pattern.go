package bucket

// match reports whether pattern matches the whole of text: * is any run of characters, also an empty one, and ? is one
// character. It is case-sensitive.
//
// It never backtracks beyond the last star, so its time is at most the product of the two lengths, whatever the pattern;
// text is a label or the name of a resource, of 63 characters at most.
func match(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0 // the last star, and where in text what follows it was tried
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0: // the star matches one character more
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

func matchAny(patterns []string, text string) bool {
	for _, p := range patterns {
		if match(p, text) {
			return true
		}
	}
	return false
}
