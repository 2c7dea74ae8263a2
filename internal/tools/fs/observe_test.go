package fs

import "testing"

// What was shared is each one's own from then on.
func TestObservationsAreShared(t *testing.T) {
	var o Observations
	o.Share("nobody", "child")
	o.put("parent", "/a", version{size: 1})
	o.Share("parent", "child")
	o.put("parent", "/b", version{size: 2})
	o.put("child", "/a", version{size: 3})
	if v, ok := o.get("child", "/a"); !ok || v.size != 3 {
		t.Error(v, ok)
	}
	if _, ok := o.get("child", "/b"); ok {
		t.Error("the child knows what was read later")
	}
	if v, _ := o.get("parent", "/a"); v.size != 1 {
		t.Error("the parent learns from the child")
	}
	o.Forget("child")
	if _, ok := o.get("parent", "/a"); !ok {
		t.Error("the parent forgets with the child")
	}
}
