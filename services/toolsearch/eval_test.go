package toolsearch_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"mcpgateway/models"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
)

// The labelled sets of the evaluation. Each is a directory with tools.jsonl and
// queries.jsonl.
var evalFolder = flag.String("eval", "", "folder with the labeled search sets for TestEval")

var evalSets = []string{"livemcp", "livemcp-agent", "toolbench", "metatool", "seal"}

// languageSet is the set whose tools the tasks in testdata are about.
const languageSet = "livemcp"

// The minimum means over the sets. They are a little below the current figures,
// so that changes can trade one figure for another.
const (
	leastNDCG     = .700
	leastRecall   = .725
	leastHit      = .840
	leastTypoNDCG = .685
	leastChatNDCG = .685
)

type evalQuery struct {
	ID       string
	Text     string
	Relevant []string
}

type evalSet struct {
	tools   []*toolset.Tool
	queries []evalQuery
}

// figures are means over the queries of a set.
type figures struct{ ndcg, recall, hit, mrr float64 }

func (f figures) plus(g figures, share float64) figures {
	return figures{f.ndcg + share*g.ndcg, f.recall + share*g.recall, f.hit + share*g.hit, f.mrr + share*g.mrr}
}

func (f figures) String() string {
	return fmt.Sprintf("nDCG@10 %.3f  recall@5 %.3f  hit@5 %.3f  MRR %.3f", f.ndcg, f.recall, f.hit, f.mrr)
}

func TestEval(t *testing.T) {
	if *evalFolder == "" {
		t.Skip(`measures the ranking when it is given labelled sets: go test ./services/toolsearch -run TestEval -v -eval FOLDER, where FOLDER is an absolute path`)
	}
	var clean, typo, chat figures
	for _, name := range evalSets {
		set, err := readEvalSet(filepath.Join(*evalFolder, name))
		if errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%v: -eval must be the folder that contains the sets %s", err, strings.Join(evalSets, ", "))
		}
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		x := ranking.Build(set.tools)
		built := time.Since(begin)
		begin = time.Now()
		c := measure(x, set.queries, func(q evalQuery) string { return q.Text })
		each := time.Since(begin) / time.Duration(len(set.queries))
		m := measure(x, set.queries, func(q evalQuery) string { return mistype(q.ID, q.Text) })
		if name == languageSet {
			evalLanguages(t, x)
		}
		g := measure(x, set.queries, func(q evalQuery) string { return chatter(q.ID) + q.Text })
		chat = chat.plus(g, 1/float64(len(evalSets)))
		t.Logf("%-14s after chat %v", name, g)
		t.Logf("%-14s %v  | typos %v  | %d tools built in %v, %v per query", name, c, m, len(set.tools), built.Round(time.Millisecond), each.Round(time.Microsecond))
		clean, typo = clean.plus(c, 1/float64(len(evalSets))), typo.plus(m, 1/float64(len(evalSets)))
	}
	t.Logf("%-14s %v  | typos %v | after chat %v", "macro", clean, typo, chat)
	for _, bar := range []struct {
		name        string
		least, have float64
	}{
		{"nDCG@10", leastNDCG, clean.ndcg}, {"recall@5", leastRecall, clean.recall}, {"hit@5", leastHit, clean.hit}, {"nDCG@10 with typos", leastTypoNDCG, typo.ndcg},
		{"nDCG@10 after chat", leastChatNDCG, chat.ndcg},
	} {
		if bar.have < bar.least {
			t.Errorf("%s = %.3f, want at least %.3f", bar.name, bar.have, bar.least)
		}
	}
}

func measure(x *ranking.Index, queries []evalQuery, textOf func(evalQuery) string) figures {
	var sum figures
	for _, q := range queries {
		relevant := map[string]bool{}
		for _, name := range q.Relevant {
			relevant[name] = true
		}
		best, _ := x.Rank(textOf(q), "", 10)
		var one figures
		for i, m := range best {
			if !relevant[m.Tool.Name] {
				continue
			}
			one.ndcg += 1 / math.Log2(float64(i+2))
			if one.mrr == 0 {
				one.mrr = 1 / float64(i+1)
			}
			if i < 5 {
				one.hit = 1
				one.recall += 1 / float64(len(relevant))
			}
		}
		ideal := 0.0
		for i := range min(10, len(relevant)) {
			ideal += 1 / math.Log2(float64(i+2))
		}
		one.ndcg /= ideal
		sum = sum.plus(one, 1/float64(len(queries)))
	}
	return sum
}

// chatter returns about 330 characters that people write before a request and
// that don't describe a tool. The same id always has the same text.
func chatter(id string) string {
	texts := []string{
		"Hello there! I hope you are doing well today and that your week has been going great so far. I am reaching out because I would really appreciate your assistance with something that I have been meaning to get done for quite a while. You are always so helpful, and I am very grateful for your support. Could you please help me with the following request: ",
		"Hi, good morning! Thank you so much in advance for taking the time to look at this. I am not very experienced with this kind of thing, so please bear with me and feel free to ask if anything is unclear. Please think step by step, take your time, and be as accurate as possible, because this is really important to me. Here is what I need you to do for me: ",
		"You are a helpful AI assistant. Your job is to help the user with their request in the best way possible. Please read the user's message carefully, choose the most suitable tool, and respond in a friendly and professional tone. Do not make anything up, and let me know if you run into any problems along the way. The user would like you to do this task: ",
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return texts[h.Sum64()%uint64(len(texts))]
}

// mistype returns the text with an edit in about 3 of 10 words of at least 5
// letters. The same id always has the same edits.
func mistype(id, text string) string {
	h := fnv.New64a()
	h.Write([]byte(id))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	words := strings.Split(text, " ")
	for i, word := range words {
		letters := 0
		for _, c := range word {
			if unicode.IsLetter(c) {
				letters++
			}
		}
		if letters < 5 || r.Float64() >= .3 {
			continue
		}
		c := []rune(word)
		at := r.IntN(len(c) - 1)
		other := rune('a' + r.IntN(26))
		switch r.IntN(4) {
		case 0:
			c = append(c[:at:at], c[at+1:]...)
		case 1:
			c = append(c[:at:at], append([]rune{other}, c[at:]...)...)
		case 2:
			c[at] = other
		case 3:
			c[at], c[at+1] = c[at+1], c[at]
		}
		words[i] = string(c)
	}
	return strings.Join(words, " ")
}

func readEvalSet(folder string) (*evalSet, error) {
	set := &evalSet{}
	servers := map[string]*toolset.Server{}
	err := readLines(filepath.Join(folder, "tools.jsonl"), func(line []byte) error {
		var named struct{ Server, Name string }
		if err := json.Unmarshal(line, &named); err != nil {
			return err
		}
		server := servers[named.Server]
		if server == nil {
			server = &toolset.Server{Config: models.Server{Alias: named.Server, Enabled: true}}
			servers[named.Server] = server
		}
		name := toolset.JoinName(named.Server, named.Name)
		set.tools = append(set.tools, &toolset.Tool{Name: name, FullName: name, Upstream: named.Name, Server: server, Definition: line})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return set, readLines(filepath.Join(folder, "queries.jsonl"), func(line []byte) error {
		var q evalQuery
		err := json.Unmarshal(line, &q)
		set.queries = append(set.queries, q)
		return err
	})
}

// readIntent returns a task and its language.
func readIntent(line []byte) (q evalQuery, language string, err error) {
	var intent struct {
		Lang string
		evalQuery
	}
	err = json.Unmarshal(line, &intent)
	return intent.evalQuery, intent.Lang, err
}

func readLines(path string, read func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		if err := read([]byte(scanner.Text())); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return scanner.Err()
}
