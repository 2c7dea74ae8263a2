// expect: timeout
setTimeout(() => { for (;;) {} }, 1);
await new Promise((r) => setTimeout(r, 60_000));
