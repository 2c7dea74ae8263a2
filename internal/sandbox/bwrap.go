package sandbox

// bwrapMounts are the mounts of a layout as options of bwrap: everything
// read-only, what may be written bound over it, and what is protected inside of
// that read-only again. An option names a path twice: what is bound, and where.
func bwrapMounts(l *Layout) []string {
	kinds := map[string]string{}
	var order []string
	set := func(path, option string) {
		if _, ok := kinds[path]; !ok {
			order = append(order, path)
		}
		kinds[path] = option
	}
	for _, s := range l.steps() {
		set(s.path, "--bind-try")
		if s.kind == readOnly {
			set(s.path, "--ro-bind-try")
		}
	}
	for _, e := range l.entries {
		if e.write {
			set(e.path, "--bind-try")
		}
	}
	sortPaths(order)
	var out []string
	for _, path := range order {
		out = append(out, kinds[path], path, path)
	}
	return out
}
