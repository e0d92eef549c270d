// gVisor's own build computes its seccomp programs beforehand and compiles them in; its Go module has none, so that each start
// of a sandbox would build those of sentry, gofer and stubs anew. `filters write FOLDER` adds to the gVisor source there
// those that Caisson's options ask for. `filters check`, compiled with them, fails unless each is, instruction by instruction, what a
// start would have built. It runs as another process, with another pid: what must not be fixed beforehand is not.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gvisor.dev/gvisor/pkg/bpf"
	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/pkg/sentry/platform/systrap"
	sentry "gvisor.dev/gvisor/runsc/boot/filter"
	sentryconfig "gvisor.dev/gvisor/runsc/boot/filter/config"
	gofer "gvisor.dev/gvisor/runsc/fsgofer/filter"
	goferconfig "gvisor.dev/gvisor/runsc/fsgofer/filter/config"
)

// As the command line of packages/server/src/engines/runtime.ts makes them. With other options a start builds its own, as ever.
var (
	sentryOptions = sentry.Options{Platform: (*systrap.Systrap)(nil).SeccompInfo(), ControllerFD: 12345}
	goferOptions  = gofer.Options{}
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "write" {
		programs, err := sentryconfig.PrecompiledPrograms(sentryOptions)
		write("runsc/boot/filter/filter_precompiled.go", registered, programs, err)
		programs, err = goferconfig.PrecompiledPrograms(goferOptions)
		write("runsc/fsgofer/filter/filter_precompiled.go", registered, programs, err)
		programs, err = systrap.PrecompileStubs()
		write("pkg/sentry/platform/systrap/stub_filters.go", "\treturn programs // of stubs\n", programs, err)
	} else if len(os.Args) == 2 && os.Args[1] == "check" {
		allowed, denied := sentryconfig.Rules(sentryOptions)
		check(sentryOptions.ConfigKey(), sentry.GetPrecompiled, sentryOptions.Vars(), allowed, denied, sentryconfig.SeccompOptions(sentryOptions))
		allowed, denied = goferconfig.Rules(goferOptions)
		check(goferOptions.ConfigKey(), gofer.GetPrecompiled, goferOptions.Vars(), allowed, denied, seccomp.ProgramOptions{})
		for range 100 {
			start := 0x7fff_0000_0000 - rand.Uint64N(1<<40)>>12<<12
			must(systrap.CheckStubs(start, 1+rand.Uint64N(1<<20), start+1+rand.Uint64N(1<<20)))
		}
	} else {
		log.Fatal("usage: filters write FOLDER | check")
	}
}

// Before the last line of the function that registers them.
const registered = "\tprecompiledPrograms = programs\n"

func write(file, last string, programs []precompiledseccomp.Program, err error) {
	must(err)
	path := filepath.Join(os.Args[2], file)
	source, err := os.ReadFile(path)
	must(err)
	if strings.Count(string(source), last) != 1 {
		log.Fatalf("%s does not register its programs as before", path)
	}
	text := ""
	for _, program := range programs {
		text += program.Registration("\t", "precompiledseccomp", "programs")
	}
	must(os.WriteFile(path, []byte(strings.Replace(string(source), last, text+last, 1)), 0o644))
}

// Builds it as both packages' Install does.
func check(
	key string,
	precompiled func(string) (precompiledseccomp.Program, bool),
	vars precompiledseccomp.Values,
	allowed, denied seccomp.SyscallRules,
	options seccomp.ProgramOptions,
) {
	program, ok := precompiled(key)
	if !ok {
		log.Fatalf("no program for %s", key)
	}
	rendered, err := program.RenderInstructions(vars)
	must(err)
	built, _, err := (&seccomp.Program{
		RuleSets: []seccomp.RuleSet{{Rules: denied}, {Rules: allowed, Action: seccomp.Allow}},
		Options:  options,
	}).Build()
	must(err)
	if !slices.Equal(bpf.ToBytecode(rendered), bpf.ToBytecode(built)) {
		log.Fatalf("another program for %s: %d instructions in place of %d", key, len(rendered), len(built))
	}
	fmt.Printf("%d instructions: %s\n", len(built), key)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
