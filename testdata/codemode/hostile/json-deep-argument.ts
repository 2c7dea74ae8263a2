// expect: exception timeout
let a: any = [];
for (let i = 0; i < 2e5; i++) a = [a];
await tools.echo(a);
