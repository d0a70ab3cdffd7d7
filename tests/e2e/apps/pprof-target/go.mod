module pprof-target

go 1.25
