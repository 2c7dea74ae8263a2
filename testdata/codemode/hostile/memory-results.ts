// expect: worker-exit timeout
const a: any[] = [];
for (;;) a.push(await tools.echo({ text: "x".repeat(100_000) }));
