package tungsten

import "sync"

// Together makes calls at once, and returns when all have returned. Of the requests that they send, as many are in progress as there are
// connections.
func (c *Client) Together(calls ...func()) {
	if len(calls) == 1 {
		calls[0]()
		return
	}
	var all sync.WaitGroup
	for _, call := range calls {
		all.Add(1)
		go func() {
			defer all.Done()
			call()
		}()
	}
	all.Wait()
}
