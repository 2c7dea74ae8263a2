// expect: timeout worker-exit
const a = Array.from({ length: 3e6 }, () => Math.random());
a.sort((x, y) => x - y);
for (;;) a.sort((x, y) => y - x);
