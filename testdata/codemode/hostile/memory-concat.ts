// expect: worker-exit timeout
let a: any[] = [1, 2, 3];
for (;;) a = a.concat(a);
