// expect: worker-exit exception timeout
let s = "x";
for (;;) s += s;
