package modelstest_test

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

// If helperVariable is set, this test binary starts a cluster, prints its
// address and waits to be killed.
const helperVariable = "MODELSTEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) == "" {
		os.Exit(m.Run())
	}
	cluster, err := modelstest.StartCluster()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(cluster.URL)
	// Nothing is ever written to it. Stop is the fallback.
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	if err := cluster.Stop(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	for range 2 {
		modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
			t.Parallel()
			if err := db.Create(&models.Revision{Topic: "projects", Revision: 1}).Error; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEmptyDatabaseHasNoTables(t *testing.T) {
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		names, err := modelstest.Open(t, dsn).Migrator().GetTables()
		if err != nil {
			t.Fatal(err)
		}
		if len(names) != 0 {
			t.Errorf("tables %v, want none", names)
		}
	})
}

func TestClusterEndsWithKilledProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests don't start PostgreSQL")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("helper printed %q: %v", line, err)
	}
	address, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	dir := address.Query().Get("host")
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("folder of the cluster: %v", err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // reports the kill

	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s still exists", dir)
		case <-tick.C:
		}
	}
}
