// expect: worker-exit timeout
for (;;) void tools.echo({ text: "x".repeat(100_000) });
