// expect: worker-exit timeout
let n = 0;
for (;;) n += "a".repeat(5e7).split("").length;
