// expect: timeout
const f = () => queueMicrotask(f);
f();
await new Promise((r) => setTimeout(r, 60_000));
