// expect: timeout
setInterval(() => { let n = 0; for (let i = 0; i < 1e6; i++) n += i; }, 1);
await new Promise((r) => setTimeout(r, 60_000));
