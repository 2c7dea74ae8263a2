// expect: timeout worker-exit
const a = "a".repeat(1e6);
for (;;) a.localeCompare(a + "b");
