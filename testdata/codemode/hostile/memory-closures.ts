// expect: worker-exit timeout
const a: any[] = [];
for (let i = 0; ; i++) { const big = new Array(1000).fill(i); a.push(() => big); }
