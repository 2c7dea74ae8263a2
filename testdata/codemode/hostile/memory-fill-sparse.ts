// expect: timeout worker-exit
const a: any[] = [];
a.length = 2 ** 32 - 1;
a.fill(1);
