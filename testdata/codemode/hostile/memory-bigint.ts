// expect: worker-exit timeout exception
let n = 2n;
for (;;) n = n * n;
