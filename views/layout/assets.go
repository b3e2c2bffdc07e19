package layout

import "context"

// Assets are the URLs of the files that pages load. A file with an empty URL is
// not loaded.
type Assets struct {
	CSS    string
	Icon   string // of the window
	Touch  string // on home screens
	Sprite string // the icons inside pages
	App    string // our own scripts
	HTMX   string
	Font   string // of the text, loaded early
}

// icon is the icon of the window, in the page to save a request: static/icon.svg.
const icon = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230b6e56'/%3E%3Cpath d='M8 10h6a6 6 0 0 1 6 6 6 6 0 0 0 6 6M8 22h6a6 6 0 0 0 6-6 6 6 0 0 1 6-6' fill='none' stroke='%23fff' stroke-width='2.5' stroke-linecap='round'/%3E%3C/svg%3E"

// NewAssets returns the URLs of the files in the folder static. url returns the URL
// of a file.
func NewAssets(url func(name string) string) Assets {
	return Assets{
		CSS: url("css/app.css"), Icon: icon, Touch: url("apple-touch-icon.png"), Sprite: url("icons.svg"),
		App: url("js/app.js"), HTMX: url("vendor/htmx.min.js"), Font: url("fonts/inter.woff2"),
	}
}

type assetsKey struct{}

// WithAssets returns a context in which Icon finds the sprite. Shell and Page call
// it for their children; fragments rendered separately require it.
func WithAssets(ctx context.Context, assets Assets) context.Context {
	return context.WithValue(ctx, assetsKey{}, assets)
}

// sprite returns the URL of the icons, or "" outside a frame.
func sprite(ctx context.Context) string {
	assets, _ := ctx.Value(assetsKey{}).(Assets)
	return assets.Sprite
}
