package admin

import "strings"

// browserName returns what people call the browser that sent a User-Agent
// header, such as "Firefox on Linux". Browsers name each other in it, so the
// most particular name is looked for first.
func browserName(agent string) string {
	name := firstNamed(agent, [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}})
	system := firstNamed(agent, [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}})
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case name != "" || system != "":
		return name + system
	default:
		return "Unknown browser"
	}
}

func firstNamed(agent string, names [][2]string) string {
	for _, name := range names {
		if strings.Contains(agent, name[0]) {
			return name[1]
		}
	}
	return ""
}
