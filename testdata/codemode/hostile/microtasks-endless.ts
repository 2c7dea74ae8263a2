// expect: timeout worker-exit
const f = (): any => Promise.resolve().then(f);
await f();
