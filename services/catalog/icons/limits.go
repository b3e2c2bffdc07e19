package icons

import "time"

// Limits of fetching and decoding.
const (
	fetchTimeout  = 2 * time.Second // for the whole response
	decodeTimeout = 2 * time.Second
	maxBytes      = 256 << 10 // of an image as it is sent
	maxRead       = 256       // bytes of an image that are decoded between two checks of the time
	maxSide       = 2048      // pixels of an image's width and height
	side          = 64        // pixels of a stored icon
	maxFetches    = 4         // at once
	maxQueue      = 1000      // icons that wait; others are queued when they are shown again

	retryInterval   = 24 * time.Hour // after a refusal
	publishInterval = time.Second    // between announcements of new icons to other processes
	closingTimeout  = 2 * time.Second
)
