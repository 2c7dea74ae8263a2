// expect: timeout
const f = () => setTimeout(f, 0);
f();
await new Promise((r) => setTimeout(r, 60_000));
