// expect: timeout
await tools.echo({ a: 1 });
for (;;) {}
