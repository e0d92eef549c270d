// gVisor's own build computes its seccomp programs beforehand and compiles them in; its Go module has none, so that each start
// of a sandbox would build those of sentry and gofer anew. `filters write FOLDER` adds to the gVisor source there the two
// that Caisson's options ask for. `filters check`, compiled with them, fails unless each is, instruction by instruction, what a
// start would have built. It runs as another process, with another pid: what must not be fixed beforehand is not.
package main

import (
	"fmt"
	"log"
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
		write(filepath.Join(os.Args[2], "runsc/boot/filter"), programs, err)
		programs, err = goferconfig.PrecompiledPrograms(goferOptions)
		write(filepath.Join(os.Args[2], "runsc/fsgofer/filter"), programs, err)
	} else if len(os.Args) == 2 && os.Args[1] == "check" {
		allowed, denied := sentryconfig.Rules(sentryOptions)
		check(sentryOptions.ConfigKey(), sentry.GetPrecompiled, sentryOptions.Vars(), allowed, denied, sentryconfig.SeccompOptions(sentryOptions))
		allowed, denied = goferconfig.Rules(goferOptions)
		check(goferOptions.ConfigKey(), gofer.GetPrecompiled, goferOptions.Vars(), allowed, denied, seccomp.ProgramOptions{})
	} else {
		log.Fatal("usage: filters write FOLDER | check")
	}
}

func write(folder string, programs []precompiledseccomp.Program, err error) {
	const last = "\tprecompiledPrograms = programs\n"
	must(err)
	path := filepath.Join(folder, "filter_precompiled.go")
	source, err := os.ReadFile(path)
	must(err)
	if strings.Count(string(source), last) != 1 {
		log.Fatalf("%s does not register its programs as before", path)
	}
	registration := programs[0].Registration("\t", "precompiledseccomp", "programs")
	must(os.WriteFile(path, []byte(strings.Replace(string(source), last, registration+last, 1)), 0o644))
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
