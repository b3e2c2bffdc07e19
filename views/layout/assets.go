package layout

import "context"

// Assets are the addresses of the files that pages load. An empty address
// leaves its file out.
type Assets struct {
	CSS    string
	Icon   string // of the window
	Sprite string // the icons inside pages
	App    string // our own scripts
	HTMX   string
}

// NewAssets returns the addresses that url gives to the files of the folder
// static.
func NewAssets(url func(name string) string) Assets {
	return Assets{
		CSS: url("css/app.css"), Icon: url("icon.svg"), Sprite: url("icons.svg"),
		App: url("js/app.js"), HTMX: url("vendor/htmx.min.js"),
	}
}

type assetsKey struct{}

// WithAssets returns a context in which Icon finds the sprite. Shell and Page
// do this for what they hold; fragments that are rendered on their own need it.
func WithAssets(ctx context.Context, assets Assets) context.Context {
	return context.WithValue(ctx, assetsKey{}, assets)
}

// sprite returns the address of the icons, or "" outside a frame.
func sprite(ctx context.Context) string {
	assets, _ := ctx.Value(assetsKey{}).(Assets)
	return assets.Sprite
}
