// expect: timeout worker-exit
for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 1e6);
await new Promise((r) => setTimeout(r, 1e7));
