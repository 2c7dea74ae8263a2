// expect: worker-exit timeout
const a: string[] = [];
for (let i = 0; ; i++) a.push(("x" + i).repeat(10_000));
