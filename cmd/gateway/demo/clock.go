package demo

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"mcpgateway/services/upstream/upstreamtest"
)

// Clock returns the options of a demo server for times and dates. now returns the
// current time.
func Clock(now func() time.Time) upstreamtest.Options {
	return upstreamtest.Options{
		Name:         "clock",
		Instructions: "Returns the time in any zone, converts between zones and calculates with dates. Zones are IANA names such as Europe/Berlin.",
		Tools: []upstreamtest.Tool{
			{Definition: defCurrentTime, Call: typed(func(in zoneInput) (moment, error) { return currentTime(now(), in) })},
			{Definition: defConvertTime, Call: typed(convertTime)},
			{Definition: defDaysBetween, Call: typed(daysBetween)},
			{Definition: defAddToDate, Call: typed(addToDate)},
			{Definition: defCalendarInfo, Call: typed(calendarInfo)},
		},
	}
}

const (
	zoneProperty = `{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}`
	momentSchema = `{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]}`

	defCurrentTime = `{"name":"current_time","title":"Current time","description":"Returns the current date and time in a time zone, with weekday and offset from UTC.","inputSchema":{"type":"object","properties":{"zone":` + zoneProperty + `},"required":["zone"],"additionalProperties":false},"outputSchema":` + momentSchema + `,"annotations":{"readOnlyHint":true,"openWorldHint":false}}`

	defConvertTime = `{"name":"convert_time","title":"Convert time","description":"Converts a date and time from one time zone to another, including daylight saving.","inputSchema":{"type":"object","properties":{"time":{"type":"string","description":"Local date and time in the zone from, such as 2026-03-29T14:30, with optional seconds."},"from":` + zoneProperty + `,"to":` + zoneProperty + `},"required":["time","from","to"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"from":` + momentSchema + `,"to":` + momentSchema + `},"required":["from","to"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

	defDaysBetween = `{"name":"days_between","title":"Days between dates","description":"Counts the days from one date to another, and how many of them are working days (Monday to Friday). Negative if the end is before the start.","inputSchema":{"type":"object","properties":{"start":{"type":"string","format":"date"},"end":{"type":"string","format":"date"}},"required":["start","end"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"days":{"type":"integer"},"workingDays":{"type":"integer"},"weeks":{"type":"number"}},"required":["days","workingDays","weeks"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

	defAddToDate = `{"name":"add_to_date","title":"Add to a date","description":"Adds years, months, weeks and days to a date; negative numbers subtract. If the month has fewer days, the result is its last day.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"years":{"type":"integer"},"months":{"type":"integer"},"weeks":{"type":"integer"},"days":{"type":"integer"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"weekday":{"type":"string"}},"required":["date","weekday"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

	defCalendarInfo = `{"name":"calendar_info","title":"Calendar information","description":"Returns weekday, ISO week, day of the year, quarter and leap year of a date.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"weekday":{"type":"string"},"isoWeek":{"type":"string"},"dayOfYear":{"type":"integer"},"quarter":{"type":"integer"},"leapYear":{"type":"boolean"},"daysInMonth":{"type":"integer"}},"required":["weekday","isoWeek","dayOfYear","quarter","leapYear","daysInMonth"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`
)

type zoneInput struct {
	Zone string `json:"zone"`
}

type moment struct {
	Time         string `json:"time"`
	Zone         string `json:"zone"`
	Abbreviation string `json:"abbreviation"`
	UTCOffset    string `json:"utcOffset"`
	Weekday      string `json:"weekday"`
	Unix         int64  `json:"unix"`
}

func momentOf(t time.Time, zone string) moment {
	abbreviation, _ := t.Zone()
	return moment{
		Time: t.Format(time.RFC3339), Zone: zone, Abbreviation: abbreviation, UTCOffset: t.Format("-07:00"),
		Weekday: t.Weekday().String(), Unix: t.Unix(),
	}
}

// loadZone returns an IANA zone. It rejects "Local", the server's zone, which is
// unknown to the caller.
func loadZone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return nil, errors.New("missing time zone: use an IANA name such as Europe/Berlin or UTC")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: use an IANA name such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

func currentTime(now time.Time, in zoneInput) (moment, error) {
	zone, err := loadZone(in.Zone)
	if err != nil {
		return moment{}, err
	}
	return momentOf(now.In(zone), in.Zone), nil
}

type conversionInput struct {
	Time string `json:"time"`
	From string `json:"from"`
	To   string `json:"to"`
}

type conversion struct {
	From moment `json:"from"`
	To   moment `json:"to"`
}

func convertTime(in conversionInput) (conversion, error) {
	from, err := loadZone(in.From)
	if err != nil {
		return conversion{}, err
	}
	to, err := loadZone(in.To)
	if err != nil {
		return conversion{}, err
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, in.Time, from); err == nil {
			return conversion{From: momentOf(t, in.From), To: momentOf(t.In(to), in.To)}, nil
		}
	}
	return conversion{}, fmt.Errorf("invalid local date and time %q: use a format such as 2026-03-29T14:30", in.Time)
}

func parseDate(s string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return t, fmt.Errorf("invalid date %q: use a format such as 2026-03-29", s)
	}
	return t, nil
}

type spanInput struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

type span struct {
	Days        int     `json:"days"`
	WorkingDays int     `json:"workingDays"`
	Weeks       float64 `json:"weeks"`
}

func daysBetween(in spanInput) (span, error) {
	start, err := parseDate(in.Start)
	if err != nil {
		return span{}, err
	}
	end, err := parseDate(in.End)
	if err != nil {
		return span{}, err
	}
	sign := 1
	if end.Before(start) {
		start, end, sign = end, start, -1
	}
	days := int((end.Unix() - start.Unix()) / 86400) // both are midnight UTC
	working := days / 7 * 5
	for i := range days % 7 {
		if d := (int(start.Weekday()) + i) % 7; d != int(time.Saturday) && d != int(time.Sunday) {
			working++
		}
	}
	return span{Days: sign * days, WorkingDays: sign * working, Weeks: math.Round(float64(sign*days)/7*100) / 100}, nil
}

type dateSum struct {
	Date   string `json:"date"`
	Years  int    `json:"years"`
	Months int    `json:"months"`
	Weeks  int    `json:"weeks"`
	Days   int    `json:"days"`
}

type namedDate struct {
	Date    string `json:"date"`
	Weekday string `json:"weekday"`
}

func addToDate(in dateSum) (namedDate, error) {
	t, err := parseDate(in.Date)
	if err != nil {
		return namedDate{}, err
	}
	for _, n := range []int{in.Years, in.Months, in.Weeks, in.Days} {
		if n < -4_000_000 || n > 4_000_000 {
			return namedDate{}, errors.New("result must be in the years 1 to 9999")
		}
	}
	first := time.Date(t.Year()+in.Years, t.Month()+time.Month(in.Months), 1, 0, 0, 0, 0, time.UTC)
	day := min(t.Day(), first.AddDate(0, 1, -1).Day())
	t = first.AddDate(0, 0, day-1+7*in.Weeks+in.Days)
	if t.Year() < 1 || t.Year() > 9999 {
		return namedDate{}, errors.New("result must be in the years 1 to 9999")
	}
	return namedDate{Date: t.Format(time.DateOnly), Weekday: t.Weekday().String()}, nil
}

type dateInput struct {
	Date string `json:"date"`
}

type calendar struct {
	Weekday     string `json:"weekday"`
	ISOWeek     string `json:"isoWeek"`
	DayOfYear   int    `json:"dayOfYear"`
	Quarter     int    `json:"quarter"`
	LeapYear    bool   `json:"leapYear"`
	DaysInMonth int    `json:"daysInMonth"`
}

func calendarInfo(in dateInput) (calendar, error) {
	t, err := parseDate(in.Date)
	if err != nil {
		return calendar{}, err
	}
	year, week := t.ISOWeek()
	return calendar{
		Weekday: t.Weekday().String(), ISOWeek: fmt.Sprintf("%04d-W%02d", year, week), DayOfYear: t.YearDay(),
		Quarter:     (int(t.Month())-1)/3 + 1,
		LeapYear:    time.Date(t.Year(), time.December, 31, 0, 0, 0, 0, time.UTC).YearDay() == 366,
		DaysInMonth: time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day(),
	}, nil
}
