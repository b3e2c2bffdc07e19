package observe

import views "mcpgateway/views/admin"

// exported returns the number of rows of an export, at most that of views.MaxCounted
// and one more. The rows of a page that lists them all aren't counted again.
func exported(whole bool, listed int, count func(most int) (int, error)) (int, error) {
	if whole {
		return listed, nil
	}
	return count(views.MaxCounted + 1)
}
