package toolsearch_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// bureau returns tools with English descriptions.
func bureau() *toolset.Snapshot {
	return newFixture("desk").
		server("mail", nil, tool("send_email", "Send an e-mail message to a person"), tool("list_folders", "List the folders of a mailbox")).
		server("books", nil, tool("create_invoice", "Create an invoice for a customer"), tool("convert_currency", "Convert an amount of money to another currency")).
		server("sky", nil, tool("get_forecast", "Get the weather forecast for a city")).
		server("disk", nil, tool("delete_file", "Delete a file from a folder"), tool("compare_files", "Compare two files")).
		snapshot()
}

func TestTaskInOtherLanguages(t *testing.T) {
	s, project := newSearcher(t), bureau()
	for _, tt := range []struct{ task, want string }{
		{"请帮我查一下明天北京的天气预报", "sky__get_forecast"},
		{"给张经理发一封电子邮件", "mail__send_email"},
		{"删除这个文件", "disk__delete_file"},
		{"請幫我查詢天氣預報", "sky__get_forecast"}, // traditional characters
		{"比較這兩個檔案文件", "disk__compare_files"},
		{"明日の天気予報を教えてください", "sky__get_forecast"},
		{"お客様の請求書を作成する", "books__create_invoice"},
		{"ファイルを比較して", "disk__compare_files"},
		{"내일 날씨예보 알려줘", "sky__get_forecast"},
		{"고객에게 이메일을 보내줘", "mail__send_email"},
		{"파일을 삭제해줘", "disk__delete_file"},
		{"Какой прогноз погоды на завтра?", "sky__get_forecast"},
		{"удали файл", "disk__delete_file"},
		{"Отправь письмо коллеге", "mail__send_email"},
		{"Wie ist die Wettervorhersage für morgen?", "sky__get_forecast"},
		{"Kundenrechnung erstellen", "books__create_invoice"},
		{"Vergleiche die beiden Dateien", "disk__compare_files"},
		{"Elimina el archivo de la carpeta", "disk__delete_file"},
		{"¿Cuál es el pronóstico del tiempo?", "sky__get_forecast"},
		{"Crée une facture pour le client", "books__create_invoice"},
		{"Quelle est la météo demain ?", "sky__get_forecast"},
		{"Converta dinheiro para outra moeda", "books__convert_currency"},
		{"Apague o arquivo", "disk__delete_file"},
	} {
		if a := forTask(t, s, project, asTask(tt.task)); a.TopTool != tt.want {
			t.Errorf("%q found %q, want %s", tt.task, a.names(), tt.want)
		}
	}
}

func TestToolsInOtherLanguages(t *testing.T) {
	s := newSearcher(t)
	project := newFixture("world").
		server("zh", nil, tool("a1", "查询指定城市的天气预报")).
		server("ja", nil, tool("a2", "顧客の請求書を作成します")).
		server("ko", nil, tool("a3", "메일을 보내는 도구")).
		server("ru", nil, tool("a4", "Удаляет файл из папки")).
		server("de", nil, tool("a5", "Berechnet die Entfernung zwischen zwei Orten auf der Karte")).
		server("es", nil, tool("a6", "Busca vuelos baratos para una fecha")).
		server("fr", nil, tool("a7", "Traduit un texte dans une autre langue")).
		server("pt", nil, tool("a8", "Mostra as últimas notícias do mercado de ações")).
		snapshot()
	for _, tt := range []struct{ task, want string }{
		{"weather forecast", "zh__a1"}, {"create an invoice", "ja__a2"}, {"send an email", "ko__a3"}, {"delete a file", "ru__a4"},
		{"distance between two places", "de__a5"}, {"find cheap flights", "es__a6"}, {"translate a text", "fr__a7"}, {"latest stock market news", "pt__a8"},
		{"天气", "zh__a1"}, {"Welche Flüge sind günstig?", "es__a6"}, {"перевести текст", "fr__a7"}, // neither is English
	} {
		if a := forTask(t, s, project, asTask(tt.task)); a.TopTool != tt.want {
			t.Errorf("%q found %q, want %s", tt.task, a.names(), tt.want)
		}
	}
}

// Words of other languages in an English task keep their English reading.
func TestEnglishTasksAreNotTranslated(t *testing.T) {
	s := newSearcher(t)
	project := newFixture("words").
		server("a", nil, tool("data_tool", "Work with data"), tool("gift_finder", "Find a gift"), tool("pain_log", "Log pain of a patient"), tool("bread", "Bake bread"),
			tool("poison", "Look up a poison"), tool("come_and_go", "Tell who has come"), tool("eat", "Say what to eat")).snapshot()
	for task, want := range map[string]string{
		"find a gift for my friend": "a__gift_finder", "log the pain of the patient": "a__pain_log", "who has come to the place": "a__come_and_go", "gift": "a__gift_finder",
	} {
		if a := forTask(t, s, project, asTask(task)); a.TopTool != want {
			t.Errorf("%q found %q, want %s", task, a.names(), want)
		}
	}
}

func TestPreviewExplainsTranslations(t *testing.T) {
	project := newFixture("p").server("sky", nil, tool("get_forecast", "Get the weather forecast")).server("zh", nil, tool("q", "搜索航班")).snapshot()
	s := newSearcher(t)
	for _, tt := range []struct {
		task string
		want tooltext.Reason
	}{
		{"天气", tooltext.Reason{Word: "天气", Found: "weather", Field: "description"}},
		{"flights", tooltext.Reason{Word: "flights", Found: "航班", Field: "description"}},
	} {
		p, err := s.Preview(t.Context(), project, toolsearch.Caller{ID: "ada"}, toolsearch.Arguments{Task: tt.task}.JSON())
		if err != nil || len(p.Found) == 0 || len(p.Found[0].Reasons) != 1 || p.Found[0].Reasons[0] != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.task, p, err, tt.want)
		}
	}
}

func TestQuotedWordsWeighLess(t *testing.T) {
	s := newSearcher(t)
	project := newFixture("q").server("a", nil, tool("upload_report", "Upload a report"), tool("search_weather", "Search the weather")).snapshot()
	for _, tt := range []struct{ task, want string }{
		{`upload "weather"`, "a__upload_report"},
		{"upload 'weather'", "a__upload_report"},
		{"upload “weather”", "a__upload_report"},
		{"upload 《weather》", "a__upload_report"},
		{"upload /tmp/weather", "a__upload_report"},
		{"upload https://weather.example/x", "a__upload_report"},
		{"upload weather@example.com", "a__upload_report"},
		{"upload weather.md", "a__upload_report"},
		{`"weather" is what I search, don't upload`, "a__search_weather"},
		{`"weather"`, "a__search_weather"}, // nothing else to go by
	} {
		if a := forTask(t, s, project, asTask(tt.task)); a.TopTool != tt.want {
			t.Errorf("%q found %q, want %s", tt.task, a.names(), tt.want)
		}
	}
}

// Text around a request changes neither the tools that are found nor their
// scores.
func TestChatDoesNotChangeTheRanking(t *testing.T) {
	s, project := newSearcher(t), bureau()
	plain := forTask(t, s, project, asTask("delete the file from the folder")).Candidates
	for _, before := range []string{"Hello! ", "Hi there, I hope you are doing well. ", "Please help me with the following: ", "I would like you to ", "Could you please ", "Thank you so much in advance for your help! "} {
		got := forTask(t, s, project, asTask(before+"delete the file from the folder")).Candidates
		if len(got) != len(plain) || len(got) == 0 || got[0].Name != plain[0].Name || got[0].Score != plain[0].Score {
			t.Errorf("%q: %+v, want %+v", before, got, plain)
		}
	}
	if a := forTask(t, s, newFixture("chat").server("a", nil, tool("hello", "Says hello and thanks")).snapshot(), asTask("hello, thank you")); a.TopTool != "a__hello" {
		t.Errorf("a task of chat only found %q", a.names())
	}
}

// leastLanguageHit is the minimum share of intents per language with a right
// tool among the first five, and leastChineseNDCG that of the Chinese tasks.
// Before the word lists, the shares were .20 (zh) to .55 (fr), and .007.
const (
	leastLanguageHit = .75
	leastChineseNDCG = .60
)

// evalLanguages measures tasks in other languages on the tools of one set.
func evalLanguages(t *testing.T, x *ranking.Index) {
	for _, file := range []string{"intents.jsonl", "chinese-tasks.jsonl"} {
		byLanguage := map[string][]evalQuery{}
		var order []string
		err := readLines(filepath.Join("testdata", file), func(line []byte) error {
			q, language, err := readIntent(bytes.TrimSpace(line))
			if byLanguage[language] == nil {
				order = append(order, language)
			}
			byLanguage[language] = append(byLanguage[language], q)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, language := range order {
			f := measure(x, byLanguage[language], func(q evalQuery) string { return q.Text })
			t.Logf("%-14s %v  | %d tasks in %s", strings.TrimSuffix(file, ".jsonl"), f, len(byLanguage[language]), language)
			switch {
			case file == "intents.jsonl" && f.hit < leastLanguageHit:
				t.Errorf("%s: hit@5 = %.3f, want at least %.3f", language, f.hit, leastLanguageHit)
			case file == "chinese-tasks.jsonl" && f.ndcg < leastChineseNDCG:
				t.Errorf("Chinese tasks: nDCG@10 = %.3f, want at least %.3f", f.ndcg, leastChineseNDCG)
			}
		}
	}
}
